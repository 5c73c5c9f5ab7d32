"""KL-LUCB's test (Kaufmann and Kalyanakrishnan, COLT 2013): LUCB with intervals for yes/no outcomes."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.divergence import reach_down, reach_up
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View
from bestarm.core.stopping.chernoff import HEURISTIC, THRESHOLD, heuristic

POWER = 1.1  # α
FACTOR = 11.0  # k₁ = 1 + 1/(α − 1) ≥ ζ(α)


def kl_lucb(state: Totals, setting: Setting) -> Reading:
    """Stop when the highest upper limit of the others is at most ε above the leader's lower limit.

    The limits of an arm are the rates q with `T d(μ̂, q) ≤ log(11 K t^1.1/δ)`, d as in `core.divergence`.

    *Proof.* For one side of an arm with T pulls Chernoff's bound is exp(−threshold) ≤ δ/(11 K T^1.1): t ≥ T. A
    union over T = 1, 2, … and over the arms, one side of each: Σ T^−1.1 ≤ 11. (Kaufmann and Kalyanakrishnan,
    Theorem 1, with α = 1.1 and k₁ = 11.)

    Departure: t counts samples, and in the paper rounds, which have two. So it holds for any selection, and the
    threshold is larger by log 2^1.1 = 0.76.
    """
    view = state.estimate
    leader = int(np.argmax(view.values))
    level = kl_level(view, setting.own[0], setting)
    upper = np.empty(setting.arms)
    for k in range(setting.arms):
        upper[k] = reach_up(float(view.values[k]), level / float(state.pulls[k])) - view.values[k]
    best = float(view.values[leader])
    own = best - reach_down(best, level / float(state.pulls[leader]))
    return read(view.values, leader, upper, own, 1.0, setting.epsilon)


def kl_level(view: View, threshold: float, setting: Setting) -> float:
    """The threshold of T d(μ̂, q)."""
    samples = float(view.samples)
    if threshold == HEURISTIC:
        return heuristic(samples, setting.delta)
    return math.log(FACTOR * setting.counted * samples**POWER / setting.delta)


def radii(state: Totals, setting: Setting) -> Floats:
    """The larger side of every arm's interval, with δ/2 for each."""
    level = kl_level(state.estimate, setting.own[0], setting._replace(delta=0.5 * setting.delta))
    pairs = zip(state.estimate.values.tolist(), state.pulls.tolist(), strict=True)
    sides = [
        max(reach_up(mean, level / pulls) - mean, mean - reach_down(mean, level / pulls))
        for mean, pulls in pairs
    ]
    return np.array(sides)


KL_LUCB = Test(
    "kl-lucb",
    "LUCB's test with Kullback–Leibler intervals for yes/no outcomes",
    SEPARATE,
    kl_lucb,
    radii,
    parameters=(THRESHOLD,),
    noise="none",
    yes_no=True,
    how="compares the intervals of arms over all batches",
    assumes=("every outcome is 0 or 1",),
)
