"""Make the runs that are missing: cells cut into pieces, the pieces spread over workers.

A run is fixed by its cell's seed and its number (`simulation.engine`), so the pieces, the workers and the order
in which they finish change no result.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator

from bestarm.errors import ProblemWarning, ServiceError
from bestarm.simulation.compiled.sources import code_version
from bestarm.simulation.workers import spread_over_workers
from bestarm.sweeps.cell import Cell, Runner
from bestarm.sweeps.runs_file import Piece, Runs

PIECE = 25  # runs in a piece at most; joblib puts quick ones together
PATIENCE = 2.0  # seconds after which a piece hands in what it has
RUNNERS_KEPT = 16  # in a worker, for the next pieces of the same cell

Work = tuple[Cell, range, str]


def default_jobs() -> int:
    """One process for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work(
    cells: Iterable[Cell], runs: Runs, jobs: int, cluster: str | None, finished: Callable[[Piece], None]
) -> None:
    """Make all runs that are missing. A piece may hand in a part only, so this goes on until none is."""
    different = {(cell.key, cell.numbers): cell for cell in cells}.values()
    with warnings.catch_warnings():
        # joblib takes the memory that compiling needs for a leak and starts a fresh process; nothing is lost.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        while pieces := [
            (cell, numbers[place : place + PIECE], code_version())
            for cell in different
            for numbers in runs.missing(cell)
            for place in range(0, len(numbers), PIECE)
        ]:
            for piece in _answers(_rules_first(pieces), jobs, cluster):
                runs.add(piece)
                finished(piece)


def _rules_first(pieces: list[Work]) -> list[Work]:
    """One piece of each set of rules before all others, so that no two workers compile the same loop."""
    first: dict[tuple[object, ...], Work] = {}
    for piece in pieces:
        first.setdefault(_rules(piece[0]), piece)
    return sorted(pieces, key=lambda piece: first[_rules(piece[0])] is not piece)


def _rules(cell: Cell) -> tuple[object, ...]:
    """What decides which loop is compiled: the method, and the parameters that are words."""
    return cell.method, *(value for value in cell.parameters.values() if isinstance(value, str))


def _answers(pieces: list[Work], jobs: int, cluster: str | None) -> Iterator[Piece]:
    if jobs > 1 or cluster is not None:
        yield from spread_over_workers(run_piece, pieces, jobs, cluster, ordered=False)
        return
    for cell, numbers, code in pieces:
        while numbers:
            piece = run_piece(cell, numbers, code)
            numbers = numbers[len(piece.outcomes) :]
            yield piece


def run_piece(cell: Cell, numbers: range, code: str) -> Piece:
    """The work of one worker: some runs of a cell, as many as fit into a short time, but at least one."""
    if code != code_version():
        raise ServiceError(
            f"a worker runs bestarm {code_version()} and the sweep {code}; install the same one everywhere, "
            "and start again."
        )
    started, patience = time.thread_time(), time.monotonic() + PATIENCE
    runner = _prepared(cell)
    outcomes: list[tuple[float, ...]] = []
    for number in numbers:
        outcomes.append(runner.run(number))
        if time.monotonic() > patience:
            break
    return Piece(cell.key, numbers.start, time.thread_time() - started, outcomes)


_runners: dict[str, Runner] = {}


def _prepared(cell: Cell) -> Runner:
    runner = _runners.get(cell.key)
    if runner is None:
        if len(_runners) >= RUNNERS_KEPT:
            _runners.pop(next(iter(_runners), ""), None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)  # said where the sweep was started
            runner = _runners[cell.key] = cell.prepare()
    return runner
