"""The end of a fixed budget: no test at all, and no promise about how often the answer is wrong.

Each of these plans is fixed by the budget and the number of arms but for who stays in it. They are written so
that who stays follows from the pulls alone: those with the most.
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import ALMOST, Reading
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Parameter, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals

BUDGET = Parameter("budget", "all samples together", "whole")


def halving(state: Totals, setting: Setting) -> Reading:
    """Settled when sequential halving has made its last phase."""
    return at_end(state, halving_pulls(phases_of(setting.arms) - 1, setting.own[0], setting.arms)[0])


def rejects(state: Totals, setting: Setting) -> Reading:
    """Settled when successive rejects has made its last phase."""
    return at_end(state, rejects_pulls(setting.arms - 1, setting.own[0], setting.arms))


def shares(state: Totals, setting: Setting) -> Reading:
    """Settled when every arm has its share of the budget."""
    return at_end(state, max(int(setting.own[0]) // setting.arms, 1))


def phases_of(arms: int) -> int:
    """How many phases sequential halving has: ⌈log₂ K⌉.

    >>> [phases_of(arms) for arms in (2, 3, 8, 9)]
    [1, 2, 3, 4]
    """
    return max(math.ceil(math.log2(arms)), 1)


def halving_pulls(phase: int, budget: float, arms: int) -> tuple[int, int]:
    """The pulls that an arm has after a phase (0, 1, …) of sequential halving, and how many arms are in it.

    Karnin, Koren and Somekh, ICML 2013: ⌈log₂ K⌉ phases, in each of which the arms that are left share an equal
    part of the budget; then the better half stays.

    >>> [halving_pulls(phase, 240, 8) for phase in range(3)]
    [(10, 8), (30, 4), (70, 2)]
    """
    phases, left, pulls = phases_of(arms), arms, 0
    for number in range(phase + 1):
        if number > 0:
            left = (left + 1) // 2
        pulls += max(int(budget) // (left * phases), 1)
    return pulls, left


def rejects_pulls(phase: int, budget: float, arms: int) -> int:
    """The pulls that an arm has after a phase (1, 2, …, K − 1) of successive rejects; then the worst one goes.

    `n_k = ⌈ (B − K) / ((½ + Σ_{i=2}^K 1/i) (K + 1 − k)) ⌉` (Audibert and Bubeck, COLT 2010).

    >>> [rejects_pulls(phase, 100, 4) for phase in (1, 2, 3)]
    [16, 21, 31]
    """
    scale = 0.5
    for i in range(2, arms + 1):
        scale += 1.0 / i
    return max(math.ceil((budget - arms) / (scale * (arms + 1.0 - phase))), 1)


def one_each(arms: int) -> int:
    """One pull of each arm."""
    return arms


def one_in_each_phase(arms: int) -> int:
    """So much that halving's first phase has a pull for each arm: with less it would exceed its budget."""
    return arms * phases_of(arms)


def at_end(state: Totals, pulls: int) -> Reading:
    """The best of the arms with the most pulls leads; it is the answer once these are all that were planned."""
    most = state.pulls.max()
    leader, second = -1, -1
    for k in range(state.pulls.shape[0]):
        if state.pulls[k] == most and (leader < 0 or state.estimate.values[k] > state.estimate.values[leader]):
            leader, second = k, leader
    if second < 0:
        second = 1 if leader == 0 else 0
    share = most / pulls
    return Reading(leader, second, np.inf, max(share, 1.0) if most >= pulls else min(share, ALMOST))


HALVING = Test(
    "halving",
    "the end of sequential halving's budget; no promise",
    SEPARATE,
    halving,
    parameters=(BUDGET,),
    noise="none",
    shows_index=False,
    growth=None,
    proven=False,
    only_with=("halving",),
    least=one_in_each_phase,
    how="stops when its budget is used up",
)
REJECTS = Test(
    "rejects",
    "the end of successive rejects' budget; no promise",
    SEPARATE,
    rejects,
    parameters=(BUDGET,),
    noise="none",
    shows_index=False,
    growth=None,
    proven=False,
    only_with=("rejects",),
    least=one_each,
    how="stops when its budget is used up",
)
SHARES = Test(
    "shares",
    "every arm has its share of a budget; no promise",
    SEPARATE,
    shares,
    parameters=(BUDGET,),
    noise="none",
    shows_index=False,
    growth=None,
    proven=False,
    only_with=("uniform",),
    least=one_each,
    how="stops when its budget is used up",
)
