"""`correct`, `history`, `cannot` and doubtful numbers in the shell: what is printed, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from real_server import RealServer

from bestarm import Problem
from bestarm.cli.lab import at_site
from bestarm.cli.main import run
from bestarm.client.connect import connect

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> RealServer:
    options = getattr(request, "param", {})
    return RealServer(Problem(["A", "B", "C"], name="ligands", **options), name="sharp")


@pytest.fixture
def shell(
    server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(at_site, "connect", partial(connect, transport=server))
    for key in ("URL", "TOKEN", "STUDY", "JOURNAL"):
        monkeypatch.delenv(f"BESTARM_{key}", raising=False)
    Path("bestarm.toml").write_text('url = "http://fake"\ntoken = "token-of-lab-a"\n')

    def call(*words: str, typed: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bestarm", *words])
        stdin = io.StringIO(typed or "")
        monkeypatch.setattr(stdin, "isatty", lambda: typed is not None)
        monkeypatch.setattr(sys, "stdin", stdin)
        try:
            run()
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def read(shell: Shell, *words: str) -> Any:
    code, out, err = shell(*words, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_a_doubtful_reward_is_asked_about(shell: Shell) -> None:
    read(shell, "ask", "-n", "5")
    shell("tell", "1", "0.81")
    shell("tell", "2", "0.63")
    code, out, err = shell("tell", "3", "84")
    assert (code, out) == (2, "")
    assert "is 84, and the 2 of this site before it are from 0.63 to 0.81; it was not taken." in err
    assert err.endswith("say that you are sure: --yes.\n")
    assert err.count("\n") == 1
    assert "it was not taken.\n" in shell("tell", "3", "84", typed="n\n")[2]
    assert read(shell, "status")["told"] == 2
    code, out, err = shell("tell", "3", "84", typed="y\n")
    assert (code, out.strip().startswith("1 reward told.")) == (0, True)
    assert shell("tell", "4", "850", "--yes")[0] == 0
    assert read(shell, "status")["told"] == 4


def test_a_flag_in_the_sheet(shell: Shell) -> None:
    shell("ask", "-n", "4", "--worksheet", "plate.csv")
    table = list(csv.DictReader(io.StringIO(Path("plate.csv").read_text())))
    for row, reward in zip(table, ("0.81", "0.79 0.83", "84", "85"), strict=True):
        row["reward"], row["sure"] = reward, "yes" if reward == "85" else ""
    with Path("plate.csv").open("w") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    code, out, err = shell("tell", "--worksheet", "plate.csv")
    assert code == 1
    assert out.startswith("3 rewards told.")
    assert "plate.csv, line 4: the reward for" in err
    assert shell("tell", "--worksheet", "plate.csv", "--yes")[1].startswith("1 reward told (3 known already).")
    table[0]["reward"] = "0.82"
    with Path("plate.csv").open("w") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    code, out, err = shell("tell", "--worksheet", "plate.csv", "--yes")
    assert (code, "trial 1 was told 0.81 and now 0.82; if that was a mistake, correct it." in err) == (1, True)
    assert shell("tell", "--worksheet", "plate.csv", "--correct", "--yes", "--reason", "misread")[0] == 0
    first, second = read(shell, "history")[:2]
    assert (first["reward"], first["was"], first["reason"]) == (0.82, [0.81], "misread")
    assert second["measurements"] == [0.79, 0.83]


def test_correct_and_history(shell: Shell, server: RealServer) -> None:
    assert shell("history")[2] == "bestarm: nothing was told yet.\n"
    for row in read(shell, "ask", "-n", "12"):
        shell("tell", str(row["trial"]), "0,5", "0,7")
    assert read(shell, "status")["uploads"] == 1
    code, out, err = shell("correct", "3", "0.75", "--reason", "swapped two tubes")
    assert (code, err) == (0, "")
    assert out.startswith("Trial 3 is corrected. ")
    assert shell("correct", "3", "0.75")[1] == "Trial 3 was told so already.\n"
    out = shell("history")[1]
    assert "was 0.5 0.7 (swapped two tubes)" in out
    assert "mean of 0.5, 0.7" in out
    rows = list(csv.DictReader(io.StringIO(shell("history", "--format", "csv")[1])))
    assert [row["trial"] for row in rows] == [str(number) for number in range(1, 13)]
    assert (rows[2]["reward"], rows[2]["was"], rows[2]["batch"]) == ("0.75", "0.5 0.7", "1")
    server.online = False
    code, out, err = shell("correct", "4", "0.8")
    assert code == 0
    assert "1 correction will be sent when the server can be reached." in out
    assert "1 correction will be sent" in shell("status")[1]
    server.online = True
    shell("sync")
    assert read(shell, "status")["corrections"] == 0


@pytest.mark.parametrize("server", [{"rewards": "yes-no"}], indirect=True)
def test_counts_are_corrected_by_their_file(shell: Shell) -> None:
    day = Path("day.csv")
    day.write_text("arm,pulls,sum\nA,5000,251\nB,5000,203\nC,5000,199\n")
    assert shell("tell", "--counts", "day.csv", "--correct")[0] == 2
    assert shell("tell", "--counts", "day.csv")[0] == 0
    day.write_text("arm,pulls,sum\nA,5000,215\nB,5000,203\nC,5000,199\n")
    code, out, err = shell("tell", "--counts", "day.csv")
    assert code == 2
    assert "a file day.csv was told before with other numbers; if these replace those, use --correct." in err
    code, out, err = shell("tell", "--counts", "day.csv", "--correct", "--reason", "digits")
    assert out.startswith("day.csv is corrected.")
    assert shell("tell", "--counts", "day.csv", "--correct")[1].startswith("day.csv was told so already.")
    assert shell("tell", "--counts", "day.csv")[1].startswith("day.csv was told before, and counts once.")
    assert [row["reward"] for row in read(shell, "history")] == [215.0, 203.0, 199.0]
    day.write_text("arm,pulls,sum\nA,5000,2510\nB,5000,203\nC,5000,199\n")
    assert "the mean of 'A' is 0.502" in shell("tell", "--counts", "day.csv", "--correct")[2]


@pytest.mark.parametrize("server", [{"rewards": "yes-no"}], indirect=True)
def test_a_day_that_is_told_twice_is_asked_about(shell: Shell) -> None:
    day = "arm,pulls,sum\nA,5000,251\nB,5000,203\nC,5000,199\n"
    for name in ("monday.csv", "again.csv"):
        Path(name).write_text(day)
    assert shell("tell", "--counts", "monday.csv")[0] == 0
    code, _, err = shell("tell", "--counts", "again.csv")
    assert code == 2
    assert "the very same counts were told before as 'monday.csv', on 20" in err
    assert err.endswith("If this is another batch, say that you are sure: --yes.\n")
    assert len(read(shell, "history")) == 3
    assert shell("tell", "--counts", "again.csv", "--yes")[0] == 0
    for name in ("few.csv", "few-again.csv"):  # so few are often alike
        Path(name).write_text("arm,pulls,sum\nA,5,0\nB,5,0\nC,5,0\n")
        assert shell("tell", "--counts", name)[0] == 0


def test_cannot(shell: Shell) -> None:
    read(shell, "ask", "-n", "12")
    code, out, _ = shell("cannot", "B", "--reason", "the bottle is empty")
    assert code == 0
    assert out.startswith("B is not handed out here any more. 4 open trials of it are given back.")
    assert "This site can't do B (the bottle is empty)." in shell("status")[1]
    assert shell("cannot", "B", "--again")[1].startswith("B can be done again, from the next plan on.")


def test_a_closed_study_says_so(shell: Shell, server: RealServer) -> None:
    read(shell, "ask", "-n", "2")
    server.admin.call("POST", "/v1/studies/ligands/close", {"reason": "no money"})
    code, out, err = shell("ask", "-n", "2")
    assert (code, out) == (0, "")
    assert err.startswith("bestarm: No more trials: ")
    shell("tell", "1", "0.5")
    assert "1 reward that it did not take stay" in shell("status")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tell", "1", "0.5", "x"), "reward is 'x'; it must be a number"),
        (("tell", "1", "1 234"), "which may be 1234 or several measurements"),
        (("tell", "1", "0.5", "--correct"), "--correct is for a file"),
        (("tell", "--worksheet", "x.csv", "--reason", "y"), "--reason is for --correct"),
        (("tell", "1"), "tell takes a trial and its reward"),
        (("correct", "one", "0.5"), "trial is 'one'"),
        (("correct", "1", "half"), "reward is 'half'"),
        (("correct", "1", "0.5"), "trial 1 was not told yet"),
        (("correct", "9", "0.5"), "trial 9 was never handed out"),
        (("correct", "2", "0.5", "--reason", "x" * 501), "reason is not a line of text"),
        (("correct", "2", "1e300"), "reward is 1e+300"),
        (("correct", "2"), "Missing argument"),
        (("cannot", "X"), "'X' is not an arm of the study; there are A, B, C"),
        (("cannot", "A", "--again"), "never said that it can't do 'A'"),
        (("history", "--format", "xml"), "xml"),
    ],
)
def test_bad_input(shell: Shell, words: tuple[str, ...], sentence: str) -> None:
    read(shell, "ask", "-n", "3")
    shell("tell", "2", "0.5")
    before = read(shell, "status") | {"server": None}, read(shell, "history")
    code, out, err = shell(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert (read(shell, "status") | {"server": None}, read(shell, "history")) == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("trial,arm,reward,reward2\n1,{arm},,0.5\n", "reward is empty, and there are further measurements"),
        ("trial,arm,reward\n1,{arm},0.5 x\n", "reward is 'x'; it must be a number"),
        ("trial,arm,reward\n1,{arm},1 000\n", "which may be 1000 or several measurements"),
        ("trial;arm;reward\n1;{arm};0,5 1,234\n", "which may be 1.234 or 1234"),
        ("trial,arm,reward\n1,{arm},0.5\n1,{arm},0.5 0.6\n", "trial 1 is in this table with different rewards"),
    ],
)
def test_sheets_that_can_not_be_read_for_sure(shell: Shell, text: str, sentence: str) -> None:
    (row,) = read(shell, "ask")
    Path("sheet.csv").write_text(text.format(arm=row["arm"]))
    code, _, err = shell("tell", "--worksheet", "sheet.csv")
    assert code == 1
    assert sentence in err
    assert read(shell, "status")["told"] == 0
