"""Successive elimination's test (Even-Dar, Mannor and Mansour, JMLR 2006): the last arm in the race."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts, Flags
from bestarm.core.breaking import Reading, best_left, last_left
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View


def elimination(state: Totals, setting: Setting) -> Reading:
    """Settled when every arm but one is eliminated.

    *Proof.* Hoeffding's inequality for both sides of every arm at each number of pulls n, with a union over n
    and arms: K Σ_n 2δ/(4K n²) ≤ 0.83 δ. Outside of that the best arm is never behind by 2α(n). It is
    about arms that have equally many pulls while they are in the race, as `elimination` and `phases` do it.
    ε is not used.
    """
    values, left = state.estimate.values, in_race(state.pulls, state.estimate, setting.sigma, setting)
    leader = best_left(values, left)
    behind = (values[leader] - values) / elimination_radius(float(state.pulls[leader]), setting.sigma, setting)
    return last_left(leader, left, behind * behind)


def in_race(pulls: Counts, view: View, sigma: float, setting: Setting) -> Flags:
    """The arms that are not eliminated: those with the most pulls that are behind by less than 2α(n).

    An arm that was eliminated before has fewer pulls.
    """
    most, best = pulls.max(), -np.inf
    for k in range(setting.arms):
        if pulls[k] == most:
            best = max(best, view.values[k])
    left: Flags = (pulls == most) & (best - view.values < elimination_radius(float(most), sigma, setting))
    return left


def elimination_radius(pulls: float, sigma: float, setting: Setting) -> float:
    """`2α(n) = 2σ √( (2/n) log(4K n²/δ) )`.

    Departure: printed for rewards in [0, 1] (σ = ½), with the exponent of Hoeffding's inequality halved.
    """
    level = math.log(4.0 * setting.counted * pulls * pulls / setting.delta)
    return 2.0 * sigma * math.sqrt(2.0 * level / pulls)


ELIMINATION = Test(
    "elimination",
    "successive elimination's: one arm is left of those that are pulled equally often",
    SEPARATE,
    elimination,
    shows_index=False,
    only_with=("elimination", "phases"),
    how="compares the means of arms that were pulled equally often",
)
