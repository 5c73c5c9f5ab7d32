"""`sweep`: a grid of methods, problems, parameters, agents and seeds, on all cores or on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from bestarm.errors import ProblemWarning, ServiceError
from bestarm.live import progress_shown
from bestarm.simulation.result import RUN_COLUMNS, Result, Summary
from bestarm.simulation.worlds.environment import environment
from bestarm.simulation.worlds.world import World
from bestarm.sweeps.cell import Cell
from bestarm.sweeps.grid import MethodLike, ProblemLike, check_whole, make_grid
from bestarm.sweeps.runs_file import Runs
from bestarm.sweeps.table_file import check_table_path, write_table
from bestarm.sweeps.work import default_jobs, work
from bestarm.tables import to_pandas

Progress = Callable[[int], None]


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
        return to_pandas(self.each if each else self.rows)

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
    noise: float | Sequence[float] | None = None,
    offsets: Sequence[float] = (),
    drift: float = 0.0,
    interactions: float | Sequence[Sequence[float]] = 0.0,
    item_effects: float = 0.0,
    item_interactions: float = 0.0,
    max_samples: int | None = None,
    out: str | os.PathLike[str] | None = None,
    each: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Simulate every combination of problem, method, parameters, agents and seed.

    The results do not depend on `jobs` and `cluster`. With `out`, finished runs are kept in a file beside it,
    and the same call continues where an interrupted one stopped.

    Parameters:
        problems: problems, paths of problem files, or tables as in a sweep's TOML file, one or several.
        methods: names with settings after colons, tables of a name and parameters in which a list stands for
            several values, methods, or functions that make one from a problem and a number of agents.
        agents, seeds: one or several.
        engine, rewards, noise, offsets, drift, interactions, item_effects, item_interactions: as in `simulate`.
        max_samples: a run with so many samples ends undecided.
        out: a `.csv` or `.parquet` file for the rows; each: one row a run instead of one a cell.
        jobs: processes, by default one for each core; cluster: the address of a Dask scheduler instead.
        progress: is told how many runs have finished, as they finish; by default a notebook shows a bar.

    >>> import bestarm
    >>> problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    >>> grid = {"name": "famabpe", "gamma": [0.01, 0.1]}
    >>> found = bestarm.sweep(problem, grid, agents=2, runs=5, engine="rounds", jobs=1)
    >>> [(row["gamma"], row["runs"], row["wrong"]) for row in found.rows]
    [(0.01, 5, 0), (0.1, 5, 0)]
    """
    world = World(rewards, None, noise, offsets, drift, interactions, item_effects, item_interactions)
    cells = make_grid(problems, methods, agents, runs, seeds, engine, max_samples, world)
    return run_grid(cells, out, each, jobs, cluster, progress)


def run_grid(
    cells: Sequence[Cell],
    out: str | os.PathLike[str] | None = None,
    each: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Make the runs of the cells that are not finished yet, and write the results.

    If it is interrupted, the cells that are finished are written too, and the others' runs are kept.
    """
    target = None if out is None else check_table_path(out)
    workers = default_jobs() if jobs is None else check_whole("jobs", jobs, 1)
    with Runs(cells, None if target is None else runs_path(target)) as runs:
        total = sum({cell.key: cell.runs for cell in cells}.values())
        try:
            with progress_shown(progress, total, f"{len(cells):,} cells") as told:
                told(sum({cell.key: runs.finished(cell) for cell in cells}.values()))
                work(cells, runs, workers, cluster, lambda piece: told(len(piece.outcomes)))
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


def collect(cells: Iterable[Cell], runs: Runs) -> Sweep:
    """The results of the cells that are finished."""
    done = [cell for cell in cells if runs.finished(cell) == cell.runs]
    return Sweep(tuple(done), tuple(_result(cell, runs) for cell in done))


def _result(cell: Cell, runs: Runs) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        means = environment(cell.problem, cell.world).means
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
        world=cell.world,
        seconds=runs.seconds(cell),
    )


SUMMARISED = ("samples", "communications", "switches")
ROW_COLUMNS = [
    *(f"{field}_{part.name}" for field in SUMMARISED for part in fields(Summary)),
    *("wrong", "unfinished", "lower_bound", "samples_bound", "communications_bound"),
    *("samples_to_lower", "samples_to_bound", "communications_to_bound", "seconds"),
]


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
    for run, row in zip(cell.numbers, result.each, strict=True):
        yield {**what, **row, "run": run}
