"""Problems and uploads for tests of the service."""

from __future__ import annotations

import random

from bestarm.core.tally import Tally
from bestarm.problem import Problem
from bestarm.protocol.entries import Upload

ARMS = ("A", "B", "C")


def small_problem(name: str = "ligands", means: tuple[float, ...] = (0.9, 0.8, 0.5)) -> Problem:
    """Three arms that are told apart after a few dozen samples."""
    return Problem(list(ARMS), sigma=0.3, delta=0.05, epsilon=0.0, means=list(means), name=name, sites="alike")


def batch(problem: Problem, agent: str, sequence: int, size: int = 4, seed: int = 0) -> Upload:
    """An agent's upload, the same for the same arguments: `size` pulls of each arm."""
    chance = random.Random(f"{agent} {sequence} {seed}")
    assert problem.means is not None
    assert problem.sigma is not None
    sums = [sum(chance.gauss(mean, problem.sigma) for _ in range(size)) for mean in problem.means]
    return Upload(problem.fingerprint, agent, sequence, Tally.of([size] * problem.K, sums))
