"""lil'UCB's test (Jamieson et al., COLT 2014): stop when one arm has most of the pulls."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.breaking import ALMOST, Reading
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Parameter, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals

EPSILON = 0.01  # the paper's ε, no tolerance
BOOST = 1.0  # its β
FREE_BOOST = 0.5  # the same of its heuristic, in which ε is 0
FREE_SHARE = 0.2  # and δ' is a fifth of δ
CONSTANTS = Parameter(
    "constants",
    "proven, or those of the heuristic in the experiments of the paper, for which there is no proof",
    "word",
    default="proven",
    words=("proven", "heuristic"),
    unproven=("heuristic",),
)


def lil_ucb(state: Totals, setting: Setting) -> Reading:
    """Stop when an arm has at least 1 + λ times the pulls of all others together.

    *Proof.* Jamieson et al. 2014, Theorem 2, for arms that are chosen by lil'UCB with the same constants and
    normal (or sub-Gaussian) noise: wrong with probability at most 4√(cδ') + 4cδ', with
    c = (2+ε)/ε · (1/log(1+ε))^(1+ε). δ' is such that this is at most δ, λ as in `times_all_others`. With the
    heuristic's constants, ε = 0, β = ½, λ = 1 + 10/K and δ' = δ/5, there is no proof.
    """
    most = int(np.argmax(state.pulls))
    others = float(state.estimate.samples - state.pulls[most])
    proven = setting.own[0] == 0.0
    times = times_all_others(inner_delta(setting.delta)) if proven else 1.0 + 10.0 / setting.arms
    needed = 1.0 + times * others
    share = float(state.pulls[most]) / needed
    return Reading(most, rival(state.pulls, most), np.inf, share if share >= 1.0 else min(share, ALMOST))


def rival(pulls: Counts, most: int) -> int:
    """The arm with the most pulls but one."""
    found = 1 if most == 0 else 0
    for k in range(pulls.shape[0]):
        if k != most and pulls[k] > pulls[found]:
            found = k
    return found


def upper_limit(value: float, pulls: float, constants: float, noise: float, delta: float) -> float:
    """`μ̂ + (1+β)(1+√ε) √( 2σ²(1+ε) log(log((1+ε)T)/δ') / T )`: the arm with the highest one is pulled.

    Departure: T + 2 in the place of T inside of the logarithms, as in the paper's experiments, so that there is
    one for a single pull.
    """
    epsilon = EPSILON if constants == 0.0 else 0.0
    boost = BOOST if constants == 0.0 else FREE_BOOST
    rate = inner_delta(delta) if constants == 0.0 else FREE_SHARE * delta
    log_term = math.log(math.log((1.0 + epsilon) * (pulls + 2.0)) / rate)
    width = math.sqrt(2.0 * noise * noise * (1.0 + epsilon) * log_term / pulls)
    return value + (1.0 + boost) * (1.0 + math.sqrt(epsilon)) * width


def inner_delta(delta: float) -> float:
    """δ' with 4√(cδ') + 4cδ' = δ, which is (√(1+δ) − 1)²/(4c); for δ above 0.25 the largest of the theorem.

    >>> round(4 * (CONSTANT * inner_delta(0.05)) ** 0.5 + 4 * CONSTANT * inner_delta(0.05), 9)
    0.05
    >>> inner_delta(0.5) == LARGEST
    True
    """
    root = math.sqrt(1.0 + delta) - 1.0
    return min(root * root / (4.0 * CONSTANT), LARGEST)


def times_all_others(rate: float) -> float:
    """The theorem's λ: ((2+β)/β)² · (1 + log(2 log(((2+β)/β)²/δ'))/log(1/δ')) / (1 − δ' − √(√√δ' log(1/δ'))).

    It comes down to ((2+β)/β)² = 9 as δ' does to 0, and is about twice that where δ is 0.05.

    >>> round(times_all_others(inner_delta(0.05)), 2)
    18.47
    """
    least = ((2.0 + BOOST) / BOOST) ** 2
    log_rate = math.log(1.0 / rate)
    above = 1.0 + math.log(2.0 * math.log(least / rate)) / log_rate
    return least * above / (1.0 - rate - math.sqrt(math.sqrt(math.sqrt(rate)) * log_rate))


CONSTANT: float = (2.0 + EPSILON) / EPSILON * (1.0 / math.log(1.0 + EPSILON)) ** (1.0 + EPSILON)
LARGEST: float = math.log(1.0 + EPSILON) / (math.e * CONSTANT)  # the theorem is about δ' up to it

LIL_UCB = Test(
    "lil-ucb",
    "lil'UCB's: one arm has most of the pulls",
    SEPARATE,
    lil_ucb,
    parameters=(CONSTANTS,),
    shows_index=False,
    growth=None,
    delta_in_selection=True,
    only_with=("lil-ucb",),
    how="stops when one arm has most of the pulls, and",
)
