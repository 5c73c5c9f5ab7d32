"""Worksheets as people and spreadsheets leave them."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

from bestarm import Trial, UserError
from bestarm.client.sheets import worksheet
from bestarm.client.sheets.worksheet import Filled
from bestarm.protocol.terms import Terms

PLAIN = Terms("ligands", ("A", "B, the long one"), "a fingerprint", sigma=0.3)
LINEAR = Terms("ligands", ("A", "B", "new"), "a fingerprint", 0.3, features=((0.1, 0.2), (0.3, 1 / 3)))
TRIALS = [Trial(7, "A"), Trial(8, "B, the long one")]


def read(tmp_path: Path, text: str | bytes) -> list[Filled]:
    path = tmp_path / "sheet.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return worksheet.read(path)


def refusal(tmp_path: Path, text: str) -> str:
    (row,) = read(tmp_path, text)
    return f"{row.line}: {row.refusal}"


def test_write_and_fill(tmp_path: Path) -> None:
    path = tmp_path / "plate7.csv"
    worksheet.write(path, TRIALS, PLAIN, "ligands/lab-a")
    assert path.read_text() == (
        'trial,arm,site,reward,note\n7,A,ligands/lab-a,,\n8,"B, the long one",ligands/lab-a,,\n'
    )
    assert worksheet.read(path) == []
    path.write_text(path.read_text().replace('one",ligands/lab-a,,', 'one",ligands/lab-a,0.5,spilled'))
    assert worksheet.read(path) == [Filled(3, 8, "B, the long one", 0.5, "ligands/lab-a")]


def test_descriptions_stand_beside_their_arms(tmp_path: Path) -> None:
    path = tmp_path / "plate7.csv"
    worksheet.write(path, TRIALS, replace(PLAIN, descriptions={"A": "in toluene"}), "ligands/lab-a")
    header, first, second = csv.reader(path.read_text().splitlines())
    assert header[1:3] == ["arm", "description"]
    assert (first[1:3], second[1:3]) == (["A", "in toluene"], ["B, the long one", ""])
    path.write_text(path.read_text().replace("lab-a,,", "lab-a,0.5,"))
    assert [row.reward for row in worksheet.read(path)] == [0.5, 0.5]


def test_features_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "plate7.csv"
    worksheet.write(path, [Trial(1, "B"), Trial(2, "new")], LINEAR, "ligands/lab-a")
    header, row, later = csv.reader(path.read_text().splitlines())
    assert header == ["trial", "arm", "x1", "x2", "site", "reward", "note"]
    assert row == ["1", "B", "0.3", repr(1 / 3), "ligands/lab-a", "", ""]
    assert later == ["2", "new", "", "", "ligands/lab-a", "", ""]


def test_a_quotation_mark_out_of_place_refuses_its_line_alone(tmp_path: Path) -> None:
    text = 'trial,arm,reward,note\n7,A,0.5,"good" sample\n8,A,0.6,"never closed\n9,A,0.7,"fine, this one"\n'
    rows = read(tmp_path, text)
    assert [(row.line, row.trial) for row in rows if not row.refusal] == [(4, 9)]
    assert [row.line for row in rows if "quotation mark" in row.refusal] == [2, 3]


def test_a_decimal_comma_with_an_exponent_is_not_two_cells(tmp_path: Path) -> None:
    assert "may be one number or two cells" in refusal(tmp_path, "trial,arm,reward,note\n7,A,1,5e-1\n")


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "plate7.csv"
    path.write_text("a day's work")
    with pytest.raises(UserError, match="exists already"):
        worksheet.write(path, TRIALS, PLAIN, "ligands/lab-a")
    assert path.read_text() == "a day's work"
    with pytest.raises(UserError, match="folder does not exist"):
        worksheet.write(tmp_path / "no" / "plate.csv", TRIALS, PLAIN, "ligands/lab-a")


@pytest.mark.parametrize(
    "text",
    [
        "trial,arm,reward\n7,A,0.73\n",
        "\ufefftrial,arm,reward\n7,A,0.73\n",
        "trial;arm;reward\r\n7;A;0,73\r\n",
        "trial\tarm\treward\n7\tA\t0,73\n",
        'trial,arm,reward\n7,A,"0,73"\n',
        " Trial , ARM ,Reward\n 7 , A ,\xa00.73 \n",
        "trial,arm,reward,note\n7,A,0.73\n",
        "trial,arm,reward,note\n7,A,0.73,,,,\n",
        "trial;arm;reward;note;;\n7;A;0,73;ok;;\n",
        'operator,trial,x1,arm,reward,note\nMia,7,0.1,A,0.73,"two\nlines"\n',
        "trial,arm,reward\n7.0,A,7.3e-1\n",
        "trial,arm,reward\n7,A,+.73",
    ],
)
def test_spreadsheet_habits(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [Filled(2, 7, "A", 0.73)]


def test_blank_lines_and_empty_rewards_are_passed_over_and_lines_are_counted(tmp_path: Path) -> None:
    text = '\ntrial;arm;reward;note\n\n7;A;;"late,\nsorry"\n;;;\n8;A;\N{MINUS SIGN}1,5;\n\n9;A;2;\n'
    assert read(tmp_path, text) == [Filled(7, 8, "A", -1.5), Filled(9, 9, "A", 2.0)]


@pytest.mark.parametrize(
    ("reward", "sentence"),
    [
        ("o.73", "reward is 'o.73'; it must be a number such as 0.73."),
        ("n/a", "it must be a number"),
        ("nan", "it must be a number"),
        ("inf", "it must be a number"),
        ("1_000", "it must be a number"),
        ("73%", "it must be a number"),
        ("0.73 0.7x", "it must be a number"),
        ("1 234", "which may be 1234 or several measurements; write 1234 or 1; 234."),
        ("1.234,5", "it must be a number"),
        ("1,234", "which may be 1.234 or 1234; write 1.2340 or 1234."),
        ("-12,345", "which may be -12.345 or -12345"),
    ],
)
def test_a_reward_that_is_no_number_or_two_is_refused(tmp_path: Path, reward: str, sentence: str) -> None:
    found = refusal(tmp_path, f"trial;arm;reward\n7;A;{reward}\n")
    assert found.startswith("2: ")
    assert sentence in found


def test_a_point_may_group_thousands_where_others_have_a_decimal_comma(tmp_path: Path) -> None:
    first, second = read(tmp_path, "trial;arm;reward\n7;A;1.234\n8;A;0,5\n")
    assert "which may be 1.234 or 1234" in first.refusal
    assert second.reward == 0.5
    assert read(tmp_path, "trial;arm;reward\n7;A;1.234\n")[0].reward == 1.234


def test_a_decimal_comma_between_commas_is_refused(tmp_path: Path) -> None:
    assert "0,73 may be one number or two cells" in refusal(tmp_path, "trial,arm,reward,note\n7,A,0,73,\n")
    assert "0,73 may be one number or two cells" in refusal(tmp_path, "trial,arm,reward,note\n7,A,0,73\n")
    assert "5 cells" in refusal(tmp_path, "trial,arm,reward,note\n7,A,0,73,fine\n")
    assert read(tmp_path, "trial,arm,reward,temperature\n7,A,0,37\n") == [Filled(2, 7, "A", 0.0)]


def test_a_typo_in_one_line_leaves_the_others(tmp_path: Path) -> None:
    rows = read(tmp_path, "trial,arm,reward\n7,A,0.5\n8,A,0.5x\nx9,A,0.5\n10,A,1\n")
    assert [row.line for row in rows if row.refusal] == [3, 4]
    assert [row.trial for row in rows if not row.refusal] == [7, 10]


def test_a_trial_with_two_rewards_is_refused_twice(tmp_path: Path) -> None:
    rows = read(tmp_path, "trial,arm,reward\n7,A,0.5\n8,A,0.5\n7,A,0.6\n8,A,.50\n")
    assert [row.line for row in rows if "different rewards" in row.refusal] == [2, 4]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "trial,reward\n7,0.5\n",
        "trial,arm,reward,reward\n7,A,0.5,0.6\n",
        "7,A,0.5\n",
        'trial,arm,"reward\n7,A,0.5\n',
        b"trial,arm,reward\n7,\xe4,0.5\n",
        "trial,arm,reward\n7,A,0.5\n".encode("utf-16"),
    ],
)
def test_a_file_that_is_no_worksheet_is_refused_as_a_whole(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(UserError, match=r"sheet\.csv: "):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        worksheet.read(tmp_path / "none.csv")


def test_a_real_spreadsheet_goes_out_and_comes_back(tmp_path: Path) -> None:
    path, terms = tmp_path / "plate.XLSX", replace(PLAIN, arms=("=1+1", "B, the long one"))
    worksheet.write(path, [Trial(7, "=1+1"), Trial(8, "B, the long one")], terms, "ligands/lab-a")
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    assert [cell.value for cell in sheet[1]] == ["trial", "arm", "site", "reward", "note"]
    assert (sheet["A2"].value, sheet["B2"].value, sheet["B2"].data_type) == (7, "'=1+1", "s")
    assert worksheet.read(path) == []
    sheet["D2"], sheet["D3"] = 1.234, "0,5 0,7"
    sheet["A3"] = 8.0
    book.save(path)
    assert worksheet.read(path) == [
        Filled(2, 7, "=1+1", 1.234, "ligands/lab-a"),
        Filled(3, 8, "B, the long one", (0.5, 0.7), "ligands/lab-a"),
    ]
    with pytest.raises(UserError, match="exists already"):
        worksheet.write(path, TRIALS, PLAIN, "ligands/lab-a")


def test_a_spreadsheet_that_is_none_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plate.xlsx"
    with pytest.raises(UserError, match="it can't be read: No such file"):
        worksheet.read(path)
    path.write_text("trial,arm,reward\n")
    with pytest.raises(UserError, match=r"it is not an \.xlsx file, or it is damaged"):
        worksheet.read(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UserError, match=r"pip install 'bestarm\[excel\]', or name the file \.csv"):
        worksheet.read(path)
    with pytest.raises(UserError, match="needs openpyxl"):
        worksheet.write(tmp_path / "new.xlsx", TRIALS, PLAIN, "ligands/lab-a")
    assert not (tmp_path / "new.xlsx").exists()
