"""The numbers behind the figures: one row a run in `runs.csv`, one row a method and gap in `summary.csv`."""

from __future__ import annotations

import csv
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.experiments.cells import LOWER_BOUND, Cell, Row
from bestarm.methods import method as build_method

RUNS, SUMMARY = "runs.csv", "summary.csv"
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


def write_runs(folder: Path, done: Sequence[tuple[Cell, list[Row]]]) -> None:
    """Write `runs.csv`: what was run, with all parameters, the seeds, and what came out."""
    what = ["experiment", "instance", "arms", "dimension", "agents", "sigma", "delta", "epsilon", "gap"]
    columns = [*what, "variant", "method", "parameters", "seed", *Row._fields]
    with (folder / RUNS).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        for cell, rows in done:
            first = [cell.experiment, *_setting(cell)]
            parameters = json.dumps(_parameters(cell), sort_keys=True)
            middle = [cell.variant.name, cell.variant.method, parameters, cell.seed]
            for row in rows:
                table.writerow([*first, *middle, *(_plain(value) for value in row)])


def write_summary(folder: Path) -> None:
    """Write `summary.csv`, from `runs.csv` alone."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with (folder / RUNS).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            groups.setdefault((row["experiment"], row["variant"], row["gap"]), []).append(row)
    with (folder / SUMMARY).open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Line)], lineterminator="\n")
        table.writeheader()
        for rows in groups.values():
            table.writerow({name: _plain(value) for name, value in asdict(summarise(rows)).items()})


def read_numbers(folder: Path) -> Numbers:
    """The lines of `summary.csv`."""
    with (folder / SUMMARY).open(newline="", encoding="utf-8") as file:
        return Numbers(_line(row) for row in csv.DictReader(file))


def summarise(rows: Sequence[dict[str, str]]) -> Line:
    """One line of the summary, from rows of `runs.csv` that differ in their run only."""
    first = rows[0]
    samples = np.array([float(row["samples"]) for row in rows])
    sent = np.array([float(row["communications"]) for row in rows])
    finished = sum(int(row["finished"]) for row in rows)
    copied = [field.name for field in fields(Line)][:11]  # experiment to method: the same in all rows
    return _line(
        {name: first[name] for name in copied},
        runs=len(rows),
        best=sum(int(row["best"]) for row in rows),
        wrong=sum(int(row["wrong"]) for row in rows),
        unfinished=len(rows) - finished,
        **_interval("samples", samples),
        **_interval("communications", sent),
        switches=float(np.mean([float(row["switches"]) for row in rows])),
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
        from scipy.stats import t

        error = float(values.std(ddof=1) / math.sqrt(values.size))
        half = float(t.ppf(0.5 + SURE / 2, values.size - 1)) * error
    return {
        name: mean,
        f"{name}_low": mean - half,
        f"{name}_high": mean + half,
        f"{name}_stderr": error,
        f"{name}_most": float(values.max()),
    }


def _setting(cell: Cell) -> list[Any]:
    problem = cell.instances[0].problem
    kind = problem.name if problem.linear else "fixed"
    sizes = [kind, problem.K, problem.dimension, cell.agents]
    return [*sizes, problem.sigma, problem.delta, problem.epsilon, cell.gap]


def _parameters(cell: Cell) -> dict[str, Any]:
    """All parameters of the cell's method, those that have their defaults included."""
    if cell.variant.method == LOWER_BOUND:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said elsewhere
        problem = cell.instances[0].problem
        built = build_method(cell.variant.method, problem, cell.agents, **dict(cell.variant.parameters))
    return dict(built.parameters)


def _plain(value: Any) -> Any:
    """Whole numbers without a point, True as 1, nothing as an empty cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return repr(value) if isinstance(value, float) else value
