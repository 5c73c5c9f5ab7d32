"""One point of a figure: a method with its parameters at one gap, and the cells that it is made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bestarm.errors import ProblemWarning
from bestarm.lower_bound import lower_bound
from bestarm.methods import Parameter
from bestarm.problem import Problem
from bestarm.sweeps.cell import Cell, Runner

LOWER_BOUND = "lower-bound"


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


class Instance(NamedTuple):
    """A problem, and the seed that it was drawn with (None if nothing about it is random)."""

    problem: Problem
    seed: int | None = None


class Bound(Cell):
    """The lower bound of a problem as a cell: computed, not run, and the same number for all runs."""

    def prepare(self) -> Runner:
        """The bound, once."""
        return Computed(lower_bound(self.problem), self.problem.best)


class Computed(NamedTuple):
    """A number in place of runs: so many samples, and the best arm as the answer."""

    samples: float
    arm: int

    def run(self, number: int) -> tuple[float, ...]:
        """The numbers of an `Outcome`."""
        return (self.arm, True, self.samples, 0, 0, 0, 0.0, 0)


class Point(NamedTuple):
    """A variant at one gap: one cell for all of its runs, or one for each run with an instance of its own.

    `seeds` are those that the cells' problems were drawn with.
    """

    experiment: str
    gap: float
    variant: Variant
    cells: tuple[Cell, ...]
    seeds: tuple[int | None, ...]


def make_points(
    experiment: str,
    gap: float,
    variants: Sequence[Variant],
    instances: Sequence[Instance],
    *,
    agents: int,
    runs: int,
    seed: int,
) -> Iterator[Point]:
    """The points of some variants at one gap, on one instance for all runs or on one for each run."""
    numbers = [range(runs)] if len(instances) == 1 else [range(run, run + 1) for run in range(runs)]
    seeds = tuple(instance.seed for instance in instances)
    for variant in variants:
        cells = tuple(
            _cell(variant, problem, agents, own, seed)
            for (problem, _), own in zip(instances, numbers, strict=True)
        )
        yield Point(experiment, gap, variant, cells, seeds)


def _cell(variant: Variant, problem: Problem, agents: int, numbers: range, seed: int) -> Cell:
    if variant.method == LOWER_BOUND:
        return Bound(problem, LOWER_BOUND, {}, agents, numbers, seed, "computed", 0)
    with warnings.catch_warnings():
        # One feature of the orthogonal instance is longer than 1; the report says so once.
        warnings.simplefilter("ignore", ProblemWarning)
        return Cell.of(problem, variant.method, dict(variant.parameters), agents, numbers, seed)


def expected_seconds(cell: Cell) -> float:
    """About how long a run of a cell takes on one core: only so that the time left is not far off.

    Measured with M = 10 at the gap 0.1; larger gaps take fewer samples, and more features longer steps.
    """
    problem, method = cell.problem, cell.method
    size = problem.K * problem.dimension / 25 if problem.linear else 1.0
    dependent = problem.linear and problem.dimension < problem.K
    if method == LOWER_BOUND:
        return (0.4 if dependent else 0.001) / cell.runs
    slow = {"ugapec": 0.002, "sync-ugapec": 0.002, "lingape": 0.007, "sync-lingape": 0.008, "falinpe": 0.008}
    each = size * slow.get(method, 0.0005) * (0.1 / cell.gap)
    if dependent and method == "sharp":
        each *= 3
    if dependent and method == "falinpe" and cell.parameters["selection"] != "greedy":
        each *= 12  # linear programmes, and a new start for each of them
    return 0.005 / cell.runs + each
