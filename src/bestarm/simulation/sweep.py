"""`sweep`: a grid of methods, problems, parameters, agents and seeds, on all cores or on a cluster.

A cell's runs are cut into pieces, and a piece goes to a worker. A run is fixed by its cell's seed and its
number (`simulation.engine`), so the pieces, the workers and the order in which they finish change no result.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from bestarm.errors import ProblemWarning, ServiceError
from bestarm.simulation.cell import Cell, code_version
from bestarm.simulation.engine import Engine
from bestarm.simulation.environment import environment
from bestarm.simulation.grid import MethodLike, ProblemLike, check_whole, make_grid
from bestarm.simulation.outcome import Outcome, is_wrong
from bestarm.simulation.result import Result, Summary
from bestarm.simulation.runs_file import Piece, Runs
from bestarm.simulation.table_file import check_table_path, write_table
from bestarm.simulation.workers import spread_over_workers

PIECE = 25  # runs in a piece at most; joblib puts quick ones together
PATIENCE = 2.0  # seconds after which a piece hands in what it has
ENGINES_KEPT = 16  # in a worker, for the next pieces of the same cell

Progress = Callable[[int], None]
Work = tuple[Cell, range, str]


@dataclass(frozen=True)
class Sweep:
    """The finished cells of a sweep with their results; one row a cell in `rows`, one a run in `each`.

    >>> import bestarm
    >>> problems = [{"K": 2, "gaps": [0.4], "sigma": 0.3}]
    >>> found = bestarm.sweep(problems, ["sharp"], agents=[2, 3], runs=5, engine="rounds", jobs=1)
    >>> [row["agents"] for row in found.rows], len(list(found.each))
    ([2, 3], 10)
    """

    cells: tuple[Cell, ...]
    results: tuple[Result, ...]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One row a cell: what it is, summaries, wrong and unfinished runs, bounds, and ratios to them."""
        return [_row(cell, result) for cell, result in self._pairs()]

    @property
    def each(self) -> Iterator[dict[str, Any]]:
        """One row a run."""
        for cell, result in self._pairs():
            yield from _run_rows(cell, result)

    def save(self, path: str | os.PathLike[str], each: bool = False) -> None:
        """Write the rows to a `.csv` or `.parquet` file, one a cell, or with `each` one a run."""
        parameters = list(dict.fromkeys(name for cell in self.cells for name in cell.parameters))
        first = list(self.cells[0].describe())
        last = RUN_COLUMNS if each else ROW_COLUMNS
        write_table(check_table_path(path), [*first, *parameters, *last], self.each if each else self.rows)

    def to_pandas(self, each: bool = False) -> Any:
        """The rows as a pandas data frame."""
        import pandas

        return pandas.DataFrame(list(self.each) if each else self.rows)

    def _pairs(self) -> Iterable[tuple[Cell, Result]]:
        return zip(self.cells, self.results, strict=True)


def sweep(
    problems: ProblemLike | Sequence[ProblemLike],
    methods: MethodLike | Sequence[MethodLike] = "sharp",
    *,
    agents: int | Sequence[int] = 10,
    runs: int = 1000,
    seeds: int | Sequence[int] = 0,
    engine: str | None = None,
    rewards: str | None = None,
    max_samples: int | None = None,
    out: str | os.PathLike[str] | None = None,
    each: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = lambda finished: None,
) -> Sweep:
    """Simulate every combination of problem, method, parameters, agents and seed.

    The results do not depend on `jobs` and `cluster`. With `out`, finished runs are kept in a file beside it,
    and the same call continues where an interrupted one stopped.

    Parameters:
        problems: problems, paths of problem files, or tables as in a sweep's TOML file, one or several.
        methods: names, or tables of a name and parameters in which a list stands for several values.
        agents, seeds: one or several.
        engine, rewards, max_samples: as in `simulate`.
        out: a `.csv` or `.parquet` file for the rows; each: one row a run instead of one a cell.
        jobs: processes, by default one for each core; cluster: the address of a Dask scheduler instead.
        progress: is told how many runs have finished, as they finish.

    >>> import bestarm
    >>> problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    >>> grid = {"name": "famabpe", "gamma": [0.01, 0.1]}
    >>> found = bestarm.sweep(problem, grid, agents=2, runs=5, engine="rounds", jobs=1)
    >>> [(row["gamma"], row["runs"], row["wrong"]) for row in found.rows]
    [(0.01, 5, 0), (0.1, 5, 0)]
    """
    cells = make_grid(problems, methods, agents, runs, seeds, engine, rewards, max_samples)
    return run_grid(cells, out, each, jobs, cluster, progress)


def run_grid(
    cells: Sequence[Cell],
    out: str | os.PathLike[str] | None = None,
    each: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = lambda finished: None,
) -> Sweep:
    """Make the runs of the cells that are not finished yet, and write the results.

    If it is interrupted, the cells that are finished are written too, and the others' runs are kept.
    """
    target = None if out is None else check_table_path(out)
    workers = os.cpu_count() or 1 if jobs is None else jobs
    check_whole("jobs", workers, 1)
    with Runs(cells, None if target is None else runs_path(target)) as runs:
        try:
            work(cells, runs, workers, cluster, progress)
        except (KeyboardInterrupt, ServiceError):
            done = collect(cells, runs)
            if target is not None and done.cells:
                done.save(target, each)
            raise
        found = collect(cells, runs)
    if target is not None:
        found.save(target, each)
    return found


def runs_path(out: Path) -> Path:
    """Where the finished runs are kept: `results.runs.jsonl` beside `results.csv`."""
    return out.with_suffix(".runs.jsonl")


def work(cells: Sequence[Cell], runs: Runs, jobs: int, cluster: str | None, progress: Progress) -> None:
    """Make all runs that are missing. A piece may hand in a part only, so this goes on until none is."""
    different = list({cell.key: cell for cell in sorted(cells, key=lambda cell: cell.runs)}.values())
    progress(sum(runs.finished(cell) for cell in different))
    while pieces := [
        (cell, numbers[place : place + PIECE], code_version())
        for cell in different
        for numbers in runs.missing(cell)
        for place in range(0, len(numbers), PIECE)
    ]:
        for piece in _answers(_methods_first(pieces), jobs, cluster):
            runs.add(piece)
            progress(len(piece.outcomes))


def _methods_first(pieces: list[Work]) -> list[Work]:
    """One piece of each method before all others, so that the workers do not all compile the same method."""
    first = {cell.method: place for place, (cell, *_) in reversed(list(enumerate(pieces)))}
    return sorted(pieces, key=lambda piece: pieces[first[piece[0].method]] is not piece)


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
            f"a worker runs bestarm {code_version()} and the sweep {code}; install the same one everywhere."
        )
    started, patience = time.thread_time(), time.monotonic() + PATIENCE
    engine = _prepared(cell)
    outcomes: list[Outcome] = []
    for number in numbers:
        outcomes.append(engine.run(number))
        if time.monotonic() > patience:
            break
    return Piece(cell.key, numbers.start, time.thread_time() - started, outcomes)


_engines: dict[str, Engine] = {}


def _prepared(cell: Cell) -> Engine:
    engine = _engines.get(cell.key)
    if engine is None:
        if len(_engines) >= ENGINES_KEPT:
            _engines.pop(next(iter(_engines), ""), None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)  # said where the sweep was started
            engine = _engines[cell.key] = cell.prepare()
    return engine


def collect(cells: Iterable[Cell], runs: Runs) -> Sweep:
    """The results of the cells that are finished."""
    done = [cell for cell in cells if runs.finished(cell) == cell.runs]
    return Sweep(tuple(done), tuple(_result(cell, runs) for cell in done))


def _result(cell: Cell, runs: Runs) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        means = environment(cell.problem, cell.rewards).means
    return Result.collect(
        runs.outcomes(cell),
        problem=cell.problem,
        method=cell.method,
        parameters=cell.parameters,
        agents=cell.agents,
        runs=cell.runs,
        seed=cell.seed,
        engine=cell.engine,
        means=means,
        seconds=runs.seconds(cell),
    )


SUMMARISED = ("samples", "communications", "switches")
ROW_COLUMNS = [
    *(f"{field}_{part.name}" for field in SUMMARISED for part in fields(Summary)),
    *("wrong", "unfinished", "lower_bound", "samples_bound", "communications_bound"),
    *("samples_to_lower", "samples_to_bound", "communications_to_bound", "seconds"),
]
RUN_COLUMNS = ["run", *SUMMARISED, "unsent", "arm", "wrong", "unfinished"]


def _row(cell: Cell, result: Result) -> dict[str, Any]:
    row: dict[str, Any] = cell.describe() | dict(cell.parameters)
    for field in SUMMARISED:
        summary = result.summary(field)
        row |= {f"{field}_{part.name}": getattr(summary, part.name) for part in fields(summary)}
    bounds = result.bounds
    return row | {
        "wrong": result.wrong,
        "unfinished": result.unfinished,
        "lower_bound": bounds and bounds.lower,
        "samples_bound": bounds and bounds.samples,
        "communications_bound": bounds and bounds.communications,
        **result.ratios,
        "seconds": result.seconds,
    }


def _run_rows(cell: Cell, result: Result) -> Iterator[dict[str, Any]]:
    what: Mapping[str, Any] = cell.describe() | dict(cell.parameters)
    wrong = is_wrong(result.means, cell.problem.epsilon)
    for run in range(cell.runs):
        arm = int(result.returned[run])
        yield {
            **what,
            "run": run,
            **{field: int(getattr(result, field)[run]) for field in (*SUMMARISED, "unsent")},
            "arm": cell.problem.arms[arm] if arm >= 0 else None,
            "wrong": int(arm >= 0 and bool(wrong[arm])),
            "unfinished": int(arm < 0),
        }
