"""The paper's synthetic problems: separate arms, and arms with features in five dimensions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bestarm.experiments.points import Instance
from bestarm.problem import Problem

ARMS, DIMENSION, AGENTS = 5, 5, 10
SIGMA, DELTA, EPSILON = 0.3, 0.05, 0.0
BEST = 0.9
GAPS = (0.1, 0.2, 0.3, 0.4, 0.5)
INSTANCES = ("random", "orthogonal")


def separate(gap: float) -> Instance:
    """Five arms: the best has mean 0.9, all others are worse by the gap.

    Departure: the paper draws the best mean at random. No method looks at anything but differences of means, so
    it changes nothing.

    >>> separate(0.1).problem.means.round(9).tolist()
    [0.9, 0.8, 0.8, 0.8, 0.8]
    """
    means = [BEST] + [BEST - gap] * (ARMS - 1)
    return Instance(Problem.quick(means, sigma=SIGMA, delta=DELTA, epsilon=EPSILON))


def linear(gap: float, seed: int, arms: int = ARMS, dimension: int = DIMENSION) -> Instance:
    """A random linear problem with unit features and a unit θ.

    θ is uniform on the unit sphere. An arm of reward r is `x = r θ + √(1−r²) u`, u a random unit vector
    orthogonal to θ. The best arm has reward 0.9, the second 0.9 − gap, the others uniform in
    [0.9 − 3 gap, 0.9 − gap], but not below −0.9.

    >>> problem = linear(0.1, seed=0).problem
    >>> problem.means[:2].round(9).tolist(), problem.features_too_long
    ([0.9, 0.8], False)
    """
    random = np.random.default_rng(seed)
    theta = _unit(random.standard_normal(dimension))
    others = random.uniform(max(BEST - 3 * gap, -BEST), BEST - gap, arms - 2)
    rewards = np.concatenate([[BEST, BEST - gap], others])
    features = np.empty((arms, dimension))
    for arm, reward in enumerate(rewards):
        direction = random.standard_normal(dimension)
        direction = _unit(direction - (direction @ theta) * theta)
        features[arm] = reward * theta + math.sqrt(1 - reward**2) * direction
    return Instance(_linear_problem("random", features, theta), seed)


def orthogonal(gap: float) -> Instance:
    """Arms at right angles: `x₁ = (1+a) e₁`, `x_k = e_k`, `θ = a e₁`, with `a (1+a) = gap`.

    The first feature is longer than the 1 that the linear methods assume.

    >>> orthogonal(0.11).problem.means.round(9).tolist()
    [0.11, 0.0, 0.0, 0.0, 0.0]
    """
    a = (math.sqrt(1 + 4 * gap) - 1) / 2
    features = np.eye(ARMS, DIMENSION)
    features[0, 0] = 1 + a
    theta = np.zeros(DIMENSION)
    theta[0] = a
    return Instance(_linear_problem("orthogonal", features, theta))


def linear_instances(gap: float, kind: str, runs: int, seed: int) -> list[Instance]:
    """One random instance for each run, the same for every method; or the orthogonal one for all runs."""
    if kind == "orthogonal":
        return [orthogonal(gap)]
    return [linear(gap, instance_seed(seed, run)) for run in range(runs)]


def instance_seed(seed: int, run: int) -> int:
    """The seed of the instance of a run: one number that is enough to draw the instance again."""
    return seed * 1_000_000 + run


def _linear_problem(name: str, features: NDArray[np.float64], theta: NDArray[np.float64]) -> Problem:
    names = [f"arm-{k}" for k in range(1, len(features) + 1)]
    return Problem(names, features=features, theta=theta, sigma=SIGMA, delta=DELTA, epsilon=EPSILON, name=name)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / np.linalg.norm(vector))
