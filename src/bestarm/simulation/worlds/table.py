"""Measured rewards in a CSV file: a row an item and a column an arm, or a row a measurement."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path

from bestarm.cells import read_cell
from bestarm.errors import UserError
from bestarm.problem.file import naming, read_text

LONG = ["arm", "value"]


def read_table(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Measured rewards by arm.

    The file has a column for each arm, after a first one that names the items; or the columns arm and value.
    """
    with naming(os.fspath(path)):
        header, rows = read_cells(read_text(Path(path)))
        return read_long(rows) if header == LONG else read_wide(header, rows)


def read_cells(text: str, what: str = "rewards") -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The first line of a CSV text, and the others that are not empty, with their numbers."""
    lines = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        header = [read_cell(cell.strip()) for cell in next(lines, [])]
        rows = [(lines.line_num, [read_cell(cell.strip()) for cell in cells]) for cells in lines if cells]
    except csv.Error as error:
        raise UserError(f"line {lines.line_num} is not valid CSV: {error}.") from None
    if not rows:
        raise UserError(f"there are no {what} below the header.")
    return header, rows


def read_wide(header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> dict[str, list[float]]:
    """A row an item, a column an arm; no cell may be empty.

    >>> read_wide(["substrate", "A", "B"], [(2, ["s1", "0.5", "0.25"]), (3, ["s2", "0.75", "0.5"])])
    {'A': [0.5, 0.75], 'B': [0.25, 0.5]}
    """
    arms, seen = header[1:], set[str]()
    if len(arms) < 2 or len(set(arms)) < len(arms) or "" in arms or header[:2] == LONG:
        raise UserError(
            f"line 1 is {','.join(header)!r}; the columns must be arm,value, or the item's name and at least "
            "two arms."
        )
    for line, cells in rows:
        if len(cells) != len(header):
            raise UserError(f"line {line} has {len(cells)} cells; it must have {len(header)}, like the header.")
        if cells[0] in seen:
            raise UserError(f"line {line}: item {cells[0]!r} is in the table twice.")
        seen.add(cells[0])
    return {
        arm: [_number(cells[place], line, arm) for line, cells in rows] for place, arm in enumerate(arms, 1)
    }


def read_long(rows: Sequence[tuple[int, list[str]]]) -> dict[str, list[float]]:
    """The columns arm and value."""
    found: dict[str, list[float]] = {}
    for line, cells in rows:
        if len(cells) != 2:
            raise UserError(f"line {line} has {len(cells)} cells; it must have 2, arm and value.")
        found.setdefault(cells[0], []).append(_number(cells[1], line, "value"))
    return found


def _number(text: str, line: int, column: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"line {line}: {column} is {text!r}; it must be a number.")
    return number
