"""Chernoff's test (Garivier and Kaufmann, COLT 2016): likelihood ratios of the leader against the others."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import ALMOST, Reading
from bestarm.core.coordinates import none_at_all
from bestarm.core.divergence import YES_NO, cost
from bestarm.core.estimate import absorb_mean, begin_separate, fold_separate, foresee_nothing
from bestarm.core.rules import Model, Parameter, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View

HEURISTIC = 1.0  # the place of the word
THRESHOLD = Parameter(
    "threshold",
    "proven, or log((1 + log t)/δ) as in most experiments, for which there is no proof",
    "word",
    default="proven",
    words=("proven", "heuristic"),
    unproven=("heuristic",),
)
SPLIT = 400  # places at which the constant of the threshold is looked for


class Likelihoods(NamedTuple):
    """The total, and what the threshold takes from delta and the number of arms, computed once."""

    pulls: Counts
    sums: Floats
    estimate: View
    level: float


def begin(setting: Setting) -> Likelihoods:
    """No pulls, and the constant of the threshold."""
    state = begin_separate(setting)
    level = 2.0 * normal_level(0.5 * math.log((setting.counted - 1.0) / setting.delta))
    return Likelihoods(state.pulls, state.sums, state.estimate, level)


def fold(state: Likelihoods, batch: Batch, setting: Setting) -> Likelihoods:
    """Add a batch to the total."""
    total = fold_separate(Totals(state.pulls, state.sums, state.estimate, 0.0, 0.0), batch, setting)
    return Likelihoods(total.pulls, total.sums, total.estimate, state.level)


def absorb(state: Likelihoods, arm: int, reward: float, setting: Setting) -> Likelihoods:
    """Add a single pull to the total."""
    total = absorb_mean(Totals(state.pulls, state.sums, state.estimate, 0.0, 0.0), arm, reward, setting)
    return Likelihoods(total.pulls, total.sums, total.estimate, state.level)


def normal_level(x: float) -> float:
    """`C(x) = min over λ in (½, 1) of (g(λ) + x)/λ`, about x + log x, for normal noise.

    `g(λ) = 2λ − 2λ log(4λ) + log ζ(2λ) − ½ log(1−λ)` (Kaufmann and Koolen, JMLR 2021, equation (15)). Any λ
    will do; the best of 400 is too large by less than a thousandth.

    >>> round(normal_level(2.0), 3), round(normal_level(10.0), 3)
    (3.583, 11.955)
    """
    lowest = np.inf
    for step in range(1, SPLIT):
        share = 0.5 + 0.5 * step / SPLIT
        log_zeta = math.log(zeta(2.0 * share))
        value = 2.0 * share - 2.0 * share * math.log(4.0 * share) + log_zeta - 0.5 * math.log(1.0 - share)
        lowest = min(lowest, (value + x) / share)
    return lowest


def zeta(s: float) -> float:
    """Riemann's ζ for s > 1: nine terms and Euler's and Maclaurin's formula for the rest.

    >>> round(zeta(2.0), 6), round(zeta(1.2), 6)
    (1.644934, 5.591582)
    """
    total = 0.0
    for n in range(1, 10):
        total += math.pow(n, -s)
    last = math.pow(10.0, -s)
    rest = 10.0 / (s - 1.0) + 0.5 + s / 120.0 - s * (s + 1.0) * (s + 2.0) / 720_000.0
    return total + last * rest


def chernoff(state: Likelihoods, setting: Setting) -> Reading:
    """Stop when `min over j of (μ̂_i − μ̂_j + ε)²/(2σ²(1/T_i + 1/T_j))` reaches the threshold, i leading.

    The threshold is `2 C(½ log((K−1)/δ)) + 4 log(4 + log(t/2))`.

    *Proof.* Kaufmann and Koolen 2021, Corollary 10: for two arms Σ T(μ̂ − μ)²/(2σ²) ever exceeds 2 C(½ log(1/α))
    + 2 log(4 + log T_i) + 2 log(4 + log T_j) with probability at most α, and the last two are at most
    4 log(4 + log(t/2)), since log(4 + log T) is concave. If i leads and is worse than j by more than ε, the
    statistic is at most that sum. A union over the K − 1 wrong leaders against the best arm.

    Departure: Garivier and Kaufmann print `log(R t^α/δ)` with a constant R that nobody knows; the threshold of
    2021 took its place, also in the later work of these authors.
    """
    samples = float(state.estimate.samples)
    level = state.level + 4.0 * math.log(4.0 + math.log(0.5 * samples))
    if setting.own[0] == HEURISTIC:
        level = heuristic(samples, setting.delta)
    pulls, values = state.pulls, state.estimate.values
    leader, challenger, lowest = int(np.argmax(values)), -1, np.inf
    for k in range(setting.arms):
        if k != leader:
            margin = float(values[leader]) - float(values[k]) + setting.epsilon
            share = 1.0 / float(pulls[leader]) + 1.0 / float(pulls[k])
            against = margin * margin / (2.0 * setting.sigma * setting.sigma * share)
            if against < lowest:
                challenger, lowest = k, against
    return judged(leader, challenger, lowest, level)


def chernoff_yes_no(state: Likelihoods, setting: Setting) -> Reading:
    """The same for yes/no outcomes: stop when the smallest likelihood ratio exceeds `log(2t(K−1)/δ)`.

    *Proof.* Garivier and Kaufmann 2016, Theorem 10. ε is not used: who waits until the best arm is known
    has one within ε too.
    """
    samples = float(state.estimate.samples)
    level = math.log(2.0 * samples * (setting.counted - 1.0) / setting.delta)
    if setting.own[0] == HEURISTIC:
        level = heuristic(samples, setting.delta)
    pulls, values = state.pulls, state.estimate.values
    leader, challenger, lowest = int(np.argmax(values)), -1, np.inf
    for k in range(setting.arms):
        if k != leader:
            against = cost(leader, k, pulls, values, YES_NO, 0.0)
            if against < lowest:
                challenger, lowest = k, against
    return judged(leader, challenger, lowest, level)


def heuristic(samples: float, delta: float) -> float:
    """`log((1 + log t)/δ)`: "for practical use" (Garivier and Kaufmann, Section 6). No proof is known."""
    return math.log((1.0 + math.log(samples)) / delta)


def judged(leader: int, challenger: int, lowest: float, level: float) -> Reading:
    """The reading: evidence is the share of the threshold that is reached."""
    evidence = max(lowest / level, 1.0) if lowest >= level else min(lowest / level, ALMOST)
    return Reading(leader, challenger, np.inf, evidence)


LIKELIHOODS = Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False)
CHERNOFF = Test(
    "chernoff",
    "Chernoff's test for normal noise: the likelihood ratio of the leader against each other arm",
    LIKELIHOODS,
    chernoff,
    parameters=(THRESHOLD,),
    shows_index=False,
    growth=(0.5, 1.4),
    how="compares each arm with the leader over all batches by a likelihood ratio",
)
CHERNOFF_YES_NO = Test(
    "chernoff-yes-no",
    "the same for yes/no outcomes",
    LIKELIHOODS,
    chernoff_yes_no,
    parameters=(THRESHOLD,),
    noise="none",
    yes_no=True,
    shows_index=False,
    growth=(0.5, 1.4),
    how="compares each arm with the leader over all batches by a likelihood ratio",
    assumes=("every outcome is 0 or 1",),
)
