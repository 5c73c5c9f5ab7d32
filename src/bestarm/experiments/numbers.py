"""The numbers behind the figures: one row a run in `runs.csv`, one row a method and gap in `summary.csv`."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.experiments.points import LOWER_BOUND, Point
from bestarm.simulation.outcome import Outcome, is_wrong
from bestarm.sweeps.runs_file import Runs
from bestarm.sweeps.table_file import write_table

RUNS, SUMMARY = "runs.csv", "summary.csv"
RUN_COLUMNS = (
    *("experiment", "instance", "arms", "dimension", "agents", "sigma", "delta", "epsilon", "gap"),
    *("variant", "method", "parameters", "seed", "run", "instance_seed"),
    *("samples", "communications", "switches", "unsent", "finished", "arm", "best", "wrong"),
)
COUNTED = ("samples", "communications", "switches", "finished", "best", "wrong")
SURE = 0.95  # of the intervals


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one variant at one gap: means, 95 % intervals of the means, and how the answers were.

    `best` counts the runs that returned the best arm, `wrong` those that returned one worse by more than
    epsilon, `unfinished` those that ended undecided.
    """

    experiment: str
    instance: str
    arms: int
    dimension: int
    agents: int
    sigma: float
    delta: float
    epsilon: float
    gap: float
    variant: str
    method: str
    runs: int
    best: int
    wrong: int
    unfinished: int
    samples: float
    samples_low: float
    samples_high: float
    samples_stderr: float
    samples_most: float
    communications: float
    communications_low: float
    communications_high: float
    communications_stderr: float
    communications_most: float
    switches: float


class Numbers:
    """The lines of `summary.csv`, by experiment, variant and gap."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)
        self._by_name = {(line.experiment, line.variant, line.gap): line for line in self.lines}

    def __call__(self, experiment: str, variant: str, gap: float) -> Line:
        return self._by_name[experiment, variant, gap]

    def has(self, experiment: str, variant: str, gap: float) -> bool:
        """Whether there is such a line."""
        return (experiment, variant, gap) in self._by_name

    def experiments(self) -> list[str]:
        """The experiments that there are numbers of, in their order."""
        return list(dict.fromkeys(line.experiment for line in self.lines))

    def of(self, experiment: str, variant: str) -> list[Line]:
        """The lines of a variant, by gap."""
        found = [line for line in self.lines if (line.experiment, line.variant) == (experiment, variant)]
        return sorted(found, key=lambda line: line.gap)

    def gaps(self, experiment: str) -> list[float]:
        """The gaps of an experiment."""
        return sorted({line.gap for line in self.lines if line.experiment == experiment})

    def variants(self, experiment: str, method: str, gap: float) -> list[Line]:
        """All variants of a method at a gap."""
        return [
            line for line in self.lines if (line.experiment, line.method, line.gap) == (experiment, method, gap)
        ]


def write_runs(folder: Path, points: Iterable[Point], runs: Runs) -> None:
    """Write `runs.csv`: what was run, with all parameters, the seeds, and what came out."""
    write_table(folder / RUNS, RUN_COLUMNS, (row for point in points for row in _run_rows(point, runs)))


def write_summary(folder: Path) -> None:
    """Write `summary.csv`, from `runs.csv` alone."""
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    with (folder / RUNS).open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        group = itemgetter(*map(names.index, ("experiment", "variant", "gap")))
        for row in rows:
            groups.setdefault(group(row), []).append(row)
    lines = (summarise(dict(zip(names, zip(*same, strict=True), strict=True))) for same in groups.values())
    columns = [field.name for field in fields(Line)]
    write_table(folder / SUMMARY, columns, (_plain(asdict(line)) for line in lines))


def read_numbers(folder: Path) -> Numbers:
    """The lines of `summary.csv`."""
    with (folder / SUMMARY).open(newline="", encoding="utf-8") as file:
        return Numbers(_line(row) for row in csv.DictReader(file))


def summarise(columns: Mapping[str, Sequence[str]]) -> Line:
    """One line of the summary, from columns of `runs.csv` whose rows differ in their run only."""
    counted = {name: np.array(columns[name], dtype=np.float64) for name in COUNTED}
    runs = counted["samples"].size
    copied = [field.name for field in fields(Line)][:11]  # experiment to method: the same in all rows
    return _line(
        {name: columns[name][0] for name in copied},
        runs=runs,
        best=int(counted["best"].sum()),
        wrong=int(counted["wrong"].sum()),
        unfinished=runs - int(counted["finished"].sum()),
        **_interval("samples", counted["samples"]),
        **_interval("communications", counted["communications"]),
        switches=float(counted["switches"].mean()),
    )


def _line(values: Mapping[str, str], **more: float) -> Line:
    """A line from text and numbers, each as its field is declared."""
    convert: dict[str, Callable[[Any], Any]] = {"str": str, "int": int, "float": float}
    given: dict[str, Any] = {**values, **more}
    return Line(**{field.name: convert[str(field.type)](given[field.name]) for field in fields(Line)})


def _interval(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """Mean, standard error and Student's interval of the mean; the interval of one run is a point."""
    mean, error, half = float(values.mean()), 0.0, 0.0
    if values.size > 1:
        from scipy.special import stdtrit  # Student's quantiles, without all of scipy.stats

        error = float(values.std(ddof=1) / math.sqrt(values.size))
        half = float(stdtrit(values.size - 1, 0.5 + SURE / 2)) * error
    return {
        name: mean,
        f"{name}_low": mean - half,
        f"{name}_high": mean + half,
        f"{name}_stderr": error,
        f"{name}_most": float(values.max()),
    }


def _run_rows(point: Point, runs: Runs) -> Iterator[dict[str, Any]]:
    """One row a run. `best`: the best arm was returned; `wrong`: one that is worse by more than epsilon."""
    for cell, instance_seed in zip(point.cells, point.seeds, strict=True):
        problem = cell.problem
        assert problem.means is not None
        merits = problem.merits(problem.means)
        best = np.flatnonzero(merits == merits.max()).tolist()
        wrong = is_wrong(merits, problem.epsilon).tolist()
        what = cell.describe() | {
            "experiment": point.experiment,
            "instance": problem.name if problem.linear else "fixed",
            "gap": point.gap,
            "variant": point.variant.name,
            "parameters": json.dumps(dict(cell.parameters), sort_keys=True),
            "instance_seed": instance_seed,
        }
        row = {column: what.get(column) for column in RUN_COLUMNS}
        for run, numbers in zip(cell.numbers, runs.numbers(cell).tolist(), strict=True):
            outcome = Outcome(*numbers)
            arm, finished = int(outcome.arm), bool(outcome.stopped)
            yield row | {
                "run": run,
                "samples": _whole(outcome.samples),
                "communications": _whole(outcome.communications),
                "switches": _whole(outcome.switches),
                "unsent": _whole(outcome.unsent),
                "finished": int(finished),
                "arm": problem.arms[arm] if finished and cell.method != LOWER_BOUND else "",
                "best": int(finished and arm in best),
                "wrong": int(finished and wrong[arm]),
            }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as `_whole` has them."""
    return {name: _whole(value) if isinstance(value, int | float) else value for name, value in row.items()}


def _whole(value: float) -> float:
    """A whole number without a point, True as 1."""
    return int(value) if value % 1 == 0 else value
