"""One cell of an experiment: a method with its parameters at one gap, for some runs.

A cell is the unit of work and of memory: it runs in one process, and its key stands for everything that fixes
its outcome, so that an interrupted experiment goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import bestarm
from bestarm.errors import ProblemWarning
from bestarm.lower_bound import lower_bound
from bestarm.methods import Parameter
from bestarm.methods import method as build_method
from bestarm.problem import Problem
from bestarm.simulation.api import prepare
from bestarm.simulation.outcome import is_wrong

LOWER_BOUND = "lower-bound"
# What the outcome of a run depends on, besides the cell itself.
SOURCES = ("core", "methods", "simulation")


@dataclass(frozen=True, slots=True)
class Variant:
    """A method and those of its parameters that are not its own defaults.

    >>> Variant.of("famabpe", gamma=0.1).name
    'famabpe gamma=0.1'
    """

    method: str
    parameters: tuple[tuple[str, Parameter], ...] = ()

    @classmethod
    def of(cls, method: str, **parameters: Parameter) -> Variant:
        """A variant with these parameters; `lambda_` is `lambda`."""
        return cls(method, tuple((name.rstrip("_"), value) for name, value in parameters.items()))

    @property
    def name(self) -> str:
        """The method and its parameters, in the words of `bestarm simulate --set`."""
        words = [
            f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.parameters
        ]
        return " ".join([self.method, *words])


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem, and the seed that it was drawn with (None if nothing about it is random)."""

    problem: Problem
    seed: int | None = None

    @property
    def digest(self) -> str:
        """A short hash of the whole problem, its means included."""
        return hashlib.sha256(json.dumps(self.problem.to_dict()).encode()).hexdigest()[:16]


class Row(NamedTuple):
    """One run of a cell. `best` says whether the best arm was returned, `wrong` whether one worse by over ε."""

    run: int
    instance_seed: int | None
    samples: float
    communications: int
    switches: int
    unsent: int
    finished: bool
    arm: str
    best: bool
    wrong: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Some runs of one variant at one gap. `instances` is one for all of the runs, or one for each."""

    experiment: str
    gap: float
    variant: Variant
    agents: int
    seed: int
    runs: range
    instances: tuple[Instance, ...]
    digests: tuple[str, ...]

    @property
    def key(self) -> str:
        """Stands for everything that fixes the outcome: the problems, the method, the seeds, and the code."""
        parts = [
            code_hash(),
            self.variant.method,
            self.variant.parameters,
            self.agents,
            self.seed,
            [self.runs.start, self.runs.stop],
            self.digests,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    def instance(self, run: int) -> Instance:
        """The instance of one of the runs."""
        return self.instances[0 if len(self.instances) == 1 else run - self.runs.start]


def make_cells(
    experiment: str,
    gap: float,
    variants: Sequence[Variant],
    instances: Sequence[Instance],
    *,
    agents: int,
    runs: int,
    seed: int,
) -> Iterator[Cell]:
    """The cells of some variants at one gap, in blocks of runs: large ones where all runs share an instance."""
    digests = [instance.digest for instance in instances]
    block = 100 if len(instances) == 1 else 10
    for variant in variants:
        for first in range(0, runs, block):
            numbers = range(first, min(first + block, runs))
            own = slice(None) if len(instances) == 1 else slice(numbers.start, numbers.stop)
            yield Cell(
                experiment,
                gap,
                variant,
                agents,
                seed,
                numbers,
                tuple(instances[own]),
                tuple(digests[own]),
            )


def run_cell(cell: Cell) -> list[Row]:
    """Make the runs of a cell. The lower bound is a method here too: one that is computed, not run."""
    if cell.variant.method == LOWER_BOUND:
        return _bounds(cell)
    rows, engine, last = [], None, None
    for run in cell.runs:
        instance = cell.instance(run)
        problem = instance.problem
        if engine is None or instance is not last:
            with warnings.catch_warnings():
                # One feature of the orthogonal instance is longer than 1; the report says so once.
                warnings.simplefilter("ignore", ProblemWarning)
                built = build_method(cell.variant.method, problem, cell.agents, **dict(cell.variant.parameters))
            engine, last = prepare(built, cell.seed), instance
        outcome = engine.run(run)
        assert problem.means is not None
        behind = float(problem.means.max() - problem.means[outcome.arm])
        rows.append(
            Row(
                run,
                instance.seed,
                int(outcome.samples),
                int(outcome.communications),
                int(outcome.switches),
                int(outcome.unsent),
                bool(outcome.stopped),
                problem.arms[outcome.arm] if outcome.stopped else "",
                bool(outcome.stopped and behind == 0.0),
                bool(outcome.stopped and is_wrong(problem.means, problem.epsilon)[outcome.arm]),
            )
        )
    return rows


def _bounds(cell: Cell) -> list[Row]:
    values = [lower_bound(instance.problem) for instance in cell.instances]
    return [
        Row(
            run,
            cell.instance(run).seed,
            values[0 if len(values) == 1 else place],
            0,
            0,
            0,
            True,
            "",
            True,
            False,
        )
        for place, run in enumerate(cell.runs)
    ]


@cache
def code_hash() -> str:
    """A short hash of the version and of the sources that runs are made by."""
    root = Path(bestarm.__file__).parent
    digest = hashlib.sha256(bestarm.__version__.encode())
    for path in (
        root / "lower_bound.py",
        *(file for name in SOURCES for file in sorted((root / name).glob("*.py"))),
    ):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
