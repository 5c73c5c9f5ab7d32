"""How hard two arms are to tell apart: divergences of normal and of yes/no outcomes.

Written for one number at a time, since these are compiled; d(p, q) is the Kullback–Leibler divergence of an
arm with mean p from one with mean q.
"""

from __future__ import annotations

import math

from bestarm.core.arrays import Counts, Floats
from bestarm.core.rules import Parameter

YES_NO = 1.0  # the place of the word among those of the parameter
OUTCOMES = Parameter(
    "outcomes", "what arms are compared as", "word", default="normal", words=("normal", "yes-no")
)
INSIDE = 1e-12  # a rate of 0 or 1 is taken to lie so far inside
STEPS = 40


def divergence(p: float, q: float, outcomes: float, sigma: float) -> float:
    """`(p − q)²/(2σ²)` for normal outcomes, `p log(p/q) + (1−p) log((1−p)/(1−q))` for yes/no.

    >>> divergence(0.5, 0.2, 0.0, 0.3), round(divergence(0.5, 0.2, YES_NO, 0.0), 4)
    (0.5, 0.2231)
    """
    if outcomes != YES_NO:
        return (p - q) * (p - q) / (2.0 * sigma * sigma)
    inside = min(max(q, INSIDE), 1.0 - INSIDE)
    found = 0.0
    if p > 0.0:
        found += p * math.log(p / inside)
    if p < 1.0:
        found += (1.0 - p) * math.log((1.0 - p) / (1.0 - inside))
    return max(found, 0.0)


def cost(leader: int, other: int, pulls: Counts, values: Floats, outcomes: float, sigma: float) -> float:
    """What speaks against "the other arm is at least as good": `T_i d(μ̂_i, m) + T_j d(μ̂_j, m)`.

    m is the mean of both arms together; 0 where the other arm is ahead. For normal outcomes it is
    `(μ̂_i − μ̂_j)² / (2σ²(1/T_i + 1/T_j))`. It is called the transportation cost, or the generalised likelihood
    ratio.
    """
    first, second = float(values[leader]), float(values[other])
    if second >= first:
        return 0.0
    mine, theirs = float(pulls[leader]), float(pulls[other])
    middle = (mine * first + theirs * second) / (mine + theirs)
    own = mine * divergence(first, middle, outcomes, sigma)
    return own + theirs * divergence(second, middle, outcomes, sigma)


def reach_up(mean: float, level: float) -> float:
    """The largest rate q with d(mean, q) ≤ level, for yes/no outcomes, by bisection.

    >>> round(reach_up(0.5, 0.2231), 3), reach_up(1.0, 3.0)
    (0.8, 1.0)
    """
    low, high = mean, 1.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if divergence(mean, middle, YES_NO, 0.0) <= level:
            low = middle
        else:
            high = middle
    return high


def reach_down(mean: float, level: float) -> float:
    """The smallest rate q with d(mean, q) ≤ level.

    >>> round(reach_down(0.5, 0.2231), 3)
    0.2
    """
    return 1.0 - reach_up(1.0 - mean, level)
