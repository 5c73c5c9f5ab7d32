"""One cell of a sweep: a method with its parameters on a problem, with its agents, its seed and its runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bestarm.core.rules import Value as Parameter
from bestarm.methods import method as build_method
from bestarm.methods.registry import records_of
from bestarm.problem import Problem
from bestarm.simulation.api import prepare
from bestarm.simulation.compiled.sources import code_version, outside_version
from bestarm.simulation.worlds.world import PLAIN, World


class Runner(Protocol):
    """What makes the runs of a cell: from a run's number to the numbers of an `Outcome`."""

    def run(self, number: int, /) -> tuple[float, ...]:
        """One run."""


@dataclass(frozen=True)
class Cell:
    """Everything that fixes some runs, checked. `numbers` says which runs of its seed they are."""

    problem: Problem
    method: str
    parameters: Mapping[str, Parameter]
    agents: int
    numbers: range
    seed: int
    engine: str
    max_samples: int
    world: World = PLAIN

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: str,
        given: Mapping[str, Parameter],
        agents: int,
        numbers: range,
        seed: int,
        engine: str | None = None,
        max_samples: int | None = None,
        world: World = PLAIN,
    ) -> Cell:
        """A cell in which every parameter that is not given has the method's default.

        >>> cell = Cell.of(Problem.quick([0.9, 0.5], sigma=0.3), "famabpe", {"gamma": 0.1}, 10, range(1000), 0)
        >>> cell.parameters["gamma"], cell.engine, cell.gap, cell.runs
        (0.1, 'events', 0.4, 1000)
        """
        built = build_method(method, problem, agents, **given)
        made = prepare(built, seed, engine, world, max_samples=max_samples)
        parameters = dict(built.parameters)
        return cls(problem, method, parameters, agents, numbers, seed, made.engine, made.max_samples, world)

    def prepare(self) -> Runner:
        """What makes its runs."""
        built = build_method(self.method, self.problem, self.agents, **self.parameters)
        return prepare(built, self.seed, self.engine, self.world, max_samples=self.max_samples)

    @cached_property
    def key(self) -> str:
        """Stands for all that fixes one run but its number: the code, and the means themselves, are part of it.

        The problem's name is left out: it changes no number.
        """
        means = self.problem.means
        outside = outside_version(records_of(self.method, self.parameters))
        fixed = {
            "problem": self.problem.fingerprint,
            "means": None if means is None else means.tolist(),
            "method": self.method,
            "parameters": dict(self.parameters),
            "agents": self.agents,
            "seed": self.seed,
            "engine": self.engine,
            "world": self.world.given,
            "max_samples": self.max_samples,
            "code": code_version(),
            **({"outside": outside} if outside else {}),
        }
        return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.numbers)

    @property
    def gap(self) -> float:
        """How far the second best mean is from the best; rounded where only rounding is left."""
        assert self.problem.means is not None
        second, best = np.sort(self.problem.merits(self.problem.means))[-2:].tolist()
        return float(round(best - second, 12))

    def describe(self) -> dict[str, Any]:
        """What tells it apart from the other cells, as the first columns of a table."""
        problem = self.problem
        return {
            "problem": problem.name,
            "arms": problem.K,
            "dimension": problem.dimension,
            "gap": self.gap,
            "sigma": problem.sigma,
            "delta": problem.delta,
            "epsilon": problem.epsilon,
            "method": self.method,
            "agents": self.agents,
            "runs": self.runs,
            "seed": self.seed,
            "engine": self.engine,
            **self.world.words,
        }
