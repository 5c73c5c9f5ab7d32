"""Where each arm's mean lies, for people who watch a study. No method decides by it."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.tally import Tally
from bestarm.problem import Problem

PSEUDO_COUNT = 10.0  # the pulls at which the interval is at its narrowest, compared with others of its kind


def intervals(problem: Problem, tally: Tally) -> tuple[Floats, Floats, Floats]:
    """Low, estimate and high for each arm; the truth lies between low and high, for all arms and at all times.

    With probability at least 1 − δ. `μ̂_k ± σ √( 2 (T_k+ρ)/T_k² · ( log(K/δ) + ½ log(1 + T_k/ρ) ) )`; nan for
    an arm that was never pulled.

    With Z = T(μ̂ − μ), √(ρ/(T+ρ)) exp(Z²/(2σ²(T+ρ))) is a non-negative supermartingale that starts at 1 (a
    normal mixture); by Ville's inequality it stays below K/δ with probability 1 − δ/K. A union over the arms.

    >>> problem = Problem(["A", "B"], sigma=0.3)
    >>> low, estimate, high = intervals(problem, Tally.of([100, 0], [90.0, 0.0]))
    >>> low.round(3).tolist(), estimate.tolist(), high.round(3).tolist()
    ([0.802, nan], [0.9, nan], [0.998, nan])
    """
    pulls = tally.pulls.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = math.log(len(problem.arms) / problem.delta) + 0.5 * np.log1p(pulls / PSEUDO_COUNT)
        radius = problem.sigma * np.sqrt(2.0 * (pulls + PSEUDO_COUNT) * threshold) / pulls
        estimate = tally.reward_sums / pulls
    return estimate - radius, estimate, estimate + radius
