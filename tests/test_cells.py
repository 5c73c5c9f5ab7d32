"""Cells that a spreadsheet would run are text in every table that is written, and come back unchanged."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm import Problem, Trial
from bestarm.cells import read_cell, write_cell
from bestarm.client.sheets import worksheet
from bestarm.protocol.terms import Terms
from bestarm.simulation.worlds.table import read_table
from bestarm.sweeps.table_file import write_table

RISKY = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-x",
    "@SUM(A1)",
    "'=1",
    "''@x",
    '=HYPERLINK("//x")',
    "＝1+1",
    "-0,5 mol",
]
STARTS = "=+-@\t\r\n＝＋－＠"


@given(st.text(alphabet="='+-@\t\r\n 0.5ea＝", max_size=6))
def test_every_text_comes_back_and_none_is_run(text: str) -> None:
    written = write_cell(text)
    assert read_cell(written) == text
    if written.lstrip(" \t\r\n")[:1] in tuple(STARTS):
        float(written.replace(",", "."))  # a number, which a spreadsheet only shows


@pytest.mark.parametrize("value", [-0.5, 3, None, "-0.5", "+1e-3", "-0,5", "0.73", "PPh3", ""])
def test_numbers_and_plain_words_stay_as_they_are(value: object) -> None:
    assert write_cell(value) is value


def test_a_worksheet_is_harmless_and_is_told_with_the_arms_own_names(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    terms = Terms("ligands", tuple(RISKY), "a fingerprint", 0.3, descriptions=dict.fromkeys(RISKY, "=2+2"))
    trials = [Trial(k, arm) for k, arm in enumerate(RISKY, 1)]
    worksheet.write(path, trials, replace(terms, features=((-0.5,),) * len(RISKY)), "ligands/lab-a")
    header, *rows = csv.reader(io.StringIO(path.read_text()))
    for row in rows:
        assert not [cell for cell in row if cell.startswith(tuple(STARTS)) and cell != "-0.5"]
    filled = io.StringIO()
    csv.writer(filled).writerows([header, *([*row[:-2], "-0.5", ""] for row in rows)])
    path.write_text(filled.getvalue())
    assert [(row.arm, row.reward) for row in worksheet.read(path)] == [(arm, -0.5) for arm in RISKY]


def test_counts_arms_and_measured_tables_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_table(path, ["arm", "pulls", "sum"], [{"arm": arm, "pulls": 2, "sum": -1.5} for arm in RISKY])
    assert worksheet.read_counts(path)[0] == {arm: [2, -1.5] for arm in RISKY}
    write_table(path, ["name", "mean"], [{"name": arm, "mean": -0.5} for arm in RISKY])
    (tmp_path / "problem.toml").write_text('arms = "table.csv"')
    assert Problem.load(tmp_path / "problem.toml").arms == tuple(RISKY)
    write_table(path, ["arm", "value"], [{"arm": arm, "value": -0.5} for arm in RISKY])
    assert read_table(path) == {arm: [-0.5] for arm in RISKY}
