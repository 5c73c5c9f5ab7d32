"""Work on cells in several processes, and remember each one as soon as it is done."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bestarm.errors import UserError
from bestarm.experiments.cells import LOWER_BOUND, Cell, Row, code_hash, run_cell
from bestarm.simulation.workers import spread_over_workers

NAME = "cells.jsonl"

Done = Callable[[Cell], None]


class Store:
    """The finished cells in a folder: one line each, a key and its rows, appended and flushed.

    A line that was cut off by a crash is not JSON; it is passed over, and its cell is run again.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.rows: dict[str, list[Row]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
            self.rows[entry["key"]] = [Row(*row) for row in entry["rows"]]
        except (ValueError, KeyError, TypeError):
            return

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self.rows

    def add(self, cell: Cell, rows: list[Row]) -> None:
        """Remember a cell, in memory and on disk."""
        self.rows[cell.key] = rows
        with self.path.open("a", encoding="utf-8") as file:
            # On its own line even if the last one was cut off.
            file.write("\n" + json.dumps({"key": cell.key, "rows": rows}) + "\n")

    def __getitem__(self, cell: Cell) -> list[Row]:
        return self.rows[cell.key]


def run_cells(cells: Sequence[Cell], store: Store, jobs: int, done: Done = lambda cell: None) -> None:
    """Run the cells that the store does not have, and store each as it comes in."""
    if jobs < 1:
        raise UserError(f"jobs is {jobs}; it must be a whole number of at least 1.")
    missing = _unique(cell for cell in cells if cell not in store)
    if jobs == 1:
        answers: Iterable[list[Row]] = map(run_cell, missing)
    else:
        answers = spread_over_workers(run_here, [(cell, code_hash()) for cell in missing], jobs, None)
    with warnings.catch_warnings():
        # joblib takes the memory that compiling needs for a leak and starts a fresh process; nothing is lost.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        for cell, rows in zip(missing, answers, strict=True):
            store.add(cell, rows)
            done(cell)


def run_here(cell: Cell, code: str) -> list[Row]:
    """The work of another process, which must have loaded the same sources as the one that keeps the store."""
    if code != code_hash():
        raise UserError("the sources of bestarm changed while the experiments ran; start them again.")
    return run_cell(cell)


def expected_seconds(cell: Cell) -> float:
    """About how long a cell takes on one core: only so that the time left is not far off.

    Measured with M = 10 at the gap 0.1; larger gaps take fewer samples, and more features longer steps.
    """
    problem, method = cell.instances[0].problem, cell.variant.method
    size = problem.K * problem.dimension / 25 if problem.linear else 1.0
    dependent = problem.linear and problem.dimension < problem.K
    if method == LOWER_BOUND:
        return len(cell.instances) * (0.4 if dependent else 0.001)
    slow = {"ugapec": 0.002, "sync-ugapec": 0.002, "lingape": 0.007, "sync-lingape": 0.008, "falinpe": 0.008}
    each = size * slow.get(method, 0.0005) * (0.1 / cell.gap)
    if dependent and method == "sharp":
        each *= 3
    if dependent and method == "falinpe" and ("selection", "greedy") not in cell.variant.parameters:
        each *= 12  # linear programmes, and a new start for each of them
    return 0.005 * len(cell.instances) + each * len(cell.runs)


def _unique(cells: Iterable[Cell]) -> list[Cell]:
    """Each key once; first one cell of every method, so that no two processes compile the same code at once."""
    by_key = {cell.key: cell for cell in cells}
    first: dict[tuple[str, object], str] = {}
    for key, cell in by_key.items():
        rules = (cell.variant.method, dict(cell.variant.parameters).get("selection"))
        first.setdefault(rules, key)
    front = [by_key[key] for key in first.values()]
    return front + [cell for key, cell in by_key.items() if key not in set(first.values())]
