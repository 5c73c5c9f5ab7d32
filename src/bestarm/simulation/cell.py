"""One cell of a sweep: a method with its parameters on a problem, with its agents, seed and number of runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from bestarm.methods import method as build_method
from bestarm.methods.method import Method, Parameter
from bestarm.problem import Problem
from bestarm.simulation.api import prepare
from bestarm.simulation.engine import Engine

SOURCES = ("problem", "core", "methods", "protocol", "simulation")


@dataclass(frozen=True)
class Cell:
    """Everything that fixes some runs, checked. `key` names what fixes one run, so it leaves out how many.

    The problem's name is left out too: it changes no number. The code that makes the runs is part of it.
    """

    problem: Problem
    method: str
    parameters: Mapping[str, Parameter]
    agents: int
    runs: int
    seed: int
    engine: str
    rewards: str | None
    max_samples: int
    key: str

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: str,
        given: Mapping[str, Parameter],
        agents: int,
        runs: int,
        seed: int,
        engine: str | None = None,
        rewards: str | None = None,
        max_samples: int | None = None,
    ) -> Cell:
        """A cell in which every parameter that is not given has the method's default.

        >>> cell = Cell.of(Problem.quick([0.9, 0.5], sigma=0.3), "famabpe", {"gamma": 0.1}, 10, 1000, 0)
        >>> cell.parameters["gamma"], cell.engine, cell.gap
        (0.1, 'events', 0.4)
        """
        built = build_method(method, problem, agents, **given)
        made = prepare(built, seed, engine, rewards, max_samples=max_samples)
        fixed = {
            "problem": {name: value for name, value in problem.to_dict().items() if name != "name"},
            "method": method,
            "parameters": dict(built.parameters),
            "agents": agents,
            "seed": seed,
            "engine": made.engine,
            "rewards": rewards,
            "max_samples": made.max_samples,
            "code": code_version(),
        }
        key = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:24]
        parameters = dict(built.parameters)
        return cls(problem, method, parameters, agents, runs, seed, made.engine, rewards, made.max_samples, key)

    def prepare(self) -> Engine:
        """The engine that makes its runs."""
        return prepare(self.build(), self.seed, self.engine, self.rewards, max_samples=self.max_samples)

    def build(self) -> Method:
        """Its method."""
        return build_method(self.method, self.problem, self.agents, **self.parameters)

    @property
    def gap(self) -> float:
        """How far the second best mean is below the best; rounded where only rounding is left."""
        assert self.problem.means is not None
        second, best = np.sort(self.problem.means)[-2:].tolist()
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
        }


@cache
def code_version() -> str:
    """The package's version, and a hash of the sources that decide how a run goes."""
    root = Path(bestarm.__file__).parent
    digest = hashlib.sha256()
    for path in (file for name in SOURCES for file in sorted((root / name).glob("*.py"))):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{bestarm.__version__}-{digest.hexdigest()[:12]}"
