"""Track-and-Stop's sampling (Garivier and Kaufmann, COLT 2016): D-tracking of the optimal shares."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts, Floats, Random
from bestarm.core.breaking import Reading
from bestarm.core.divergence import OUTCOMES, YES_NO, divergence
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State

OUTER, INNER = 60, 30  # steps at most
CLOSE = 1e-10
MOST = 1e12  # times the pulls of the best arm


def tracking(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """One pull: of the arm with the fewest if these are below √t − K/2, else of the one furthest behind `t w*`.

    w* are the shares that are optimal if the means are as estimated (`optimal_shares`).
    """
    pulls, view = state.pulls, state.estimate
    samples, arm = float(view.samples), int(np.argmin(pulls))
    if pulls[arm] > max(math.sqrt(samples) - 0.5 * setting.arms, 0.0):
        shares = optimal_shares(view.values, setting.own_selection[0], view.noise)
        arm = int(np.argmax(samples * shares - pulls))
    arms[0], counts[0] = arm, 1
    return 1


def optimal_shares(values: Floats, outcomes: float, sigma: float) -> Floats:
    """The shares w* that make the smallest cost of confusion with the best arm as large as possible.

    With 1 the best arm and x = w_a/w_1, `g_a(x) = d(μ_1, m) + x d(μ_a, m)` with m = (μ_1 + xμ_a)/(1 + x) is the
    same number y for all a, and `F(y) = Σ_a d(μ_1, m_a)/d(μ_a, m_a) = 1` (Garivier and Kaufmann
    2016, Theorem 5). If several arms are best, they share all pulls.

    >>> optimal_shares(np.array([0.5, 0.45, 0.43, 0.4]), YES_NO, 0.0).round(3).tolist()
    [0.417, 0.39, 0.136, 0.057]
    >>> optimal_shares(np.array([0.9, 0.5]), 0.0, 0.3).round(3).tolist()
    [0.5, 0.5]
    """
    arms, best = values.shape[0], int(np.argmax(values))
    shares = np.zeros(arms)
    nearest = np.inf
    for k in range(arms):
        if k != best:
            nearest = min(nearest, divergence(float(values[best]), float(values[k]), outcomes, sigma))
    if nearest <= 0.0:
        shares[values == values[best]] = 1.0
        shares /= shares.sum()
        return shares
    low, high = 0.0, nearest
    for _ in range(OUTER):
        level = 0.5 * (low + high)
        total = 0.0
        for k in range(arms):
            if k != best:
                shares[k] = ratio_at(float(values[best]), float(values[k]), level, outcomes, sigma)
                middle = (values[best] + shares[k] * values[k]) / (1.0 + shares[k])
                behind = divergence(float(values[k]), middle, outcomes, sigma)
                total += divergence(float(values[best]), middle, outcomes, sigma) / max(behind, 1e-300)
        if total < 1.0:
            low = level
        else:
            high = level
        if abs(total - 1.0) < CLOSE:
            break
    shares[best] = 1.0
    shares /= shares.sum()
    return shares


def ratio_at(first: float, second: float, level: float, outcomes: float, sigma: float) -> float:
    """x with g(x) = level. In closed form for normal outcomes, else by Newton's method: g is concave.

    A tangent of a concave function lies above it, so from the left no step goes too far.
    """
    whole = divergence(first, second, outcomes, sigma)
    if outcomes != YES_NO:
        return level / (whole - level)
    x = 0.0
    for _ in range(INNER):
        middle = (first + x * second) / (1.0 + x)
        slope = divergence(second, middle, outcomes, sigma)
        value = divergence(first, middle, outcomes, sigma) + x * slope
        step = (level - value) / max(slope, 1e-300)
        x = min(max(x + step, 0.0), MOST)
        if abs(step) <= CLOSE * (1.0 + x):
            break
    return x


TRACKING = Selection(
    "tracking",
    "the arm furthest behind its optimal share",
    by_turns,
    one_arm,
    parameters=(OUTCOMES,),
    turn=tracking,
)
