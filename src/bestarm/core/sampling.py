"""Which arm to pull next, given the pulls known and planned, the view and the reading of a tally.

Each rule returns one arm. Ties go to the lowest index, except where a rule says otherwise.
"""

from __future__ import annotations

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.confidence import row_products, span
from bestarm.core.estimate import View
from bestarm.core.setting import Setting
from bestarm.core.tally import Counts

UNSOLVED = -2


def balance(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """Of leader and challenger the one with the larger radius, which is the one with fewer pulls (tie: leader).

    The rule of FAMABPE (Algorithm 1, line 9) and of UGapEc.
    """
    return reading.leader if pulls[reading.leader] <= pulls[reading.challenger] else reading.challenger


def ratio(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """The arm furthest behind its share of the best design for the gap: argmin T_k / p*_k with p*_k > 0.

    w* = argmin Σ|w_k| subject to Σ w_k x_k = x_i − x_j, p*_k = |w*_k| / Σ|w*|.
    Departure: w ranges over R^K, not R^d; p* takes absolute values and arms with w*_k = 0 are left out. With
    the signed p* as printed, the challenger (whose weight is negative) would always be pulled.
    Returns −1 while the linear programme of the pair is unsolved; the caller solves it and asks again.
    """
    arms = setting.design_arms[reading.leader, reading.challenger]
    weights = setting.design_weights[reading.leader, reading.challenger]
    if arms[0] == UNSOLVED:
        return -1
    best, lowest = arms[0], np.inf
    for place in range(arms.shape[0]):
        if arms[place] < 0:
            break
        behind = pulls[arms[place]] / weights[place]
        if behind < lowest:
            best, lowest = arms[place], behind
    return int(best)


def greedy(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """The arm whose next pull shrinks ‖x_i − x_j‖ the most: argmin_k y'(V + x_k x_k')⁻¹ y, (15).

    By Sherman–Morrison this is argmax_k (x_k'V⁻¹y)² / (1 + x_k'V⁻¹x_k).
    Departure: the paper prints argmax; with argmax it does not stop. LinGapE's rule is argmin.
    """
    features = setting.features
    mapped = features @ view.inverse
    toward = mapped @ (features[reading.leader] - features[reading.challenger])
    return int(np.argmax(toward * toward / (1.0 + row_products(mapped, features))))


def track(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """`sharp`'s rule for separate arms: a floor, an optimistic leader, and the balance of an optimal design.

    An arm with fewer than min(√(5N/K), N/(4K)) pulls goes first. Without a floor an arm can starve after an
    unlucky start; this one takes at most a quarter of the samples, and a vanishing share in the end. Then
    leader i = argmax μ̂_k + σ√(2 log N / T_k); challenger = argmin_{k≠i} of the cost of confusion
    `(μ̂_i − μ̂_k)₊² / (2σ²(1/T_i + 1/T_k)) + log T_k`; the leader is pulled if T_i² < Σ_{k≠i} T_k², which is
    the balance of the lower bound's design for Gaussian arms (Garivier and Kaufmann 2016), otherwise the
    challenger. The guarantee does not depend on the sampling rule.
    """
    fewest = int(np.argmin(pulls))
    samples = float(pulls.sum())
    if pulls[fewest] < min(np.sqrt(5.0 * samples / setting.arms), 0.25 * samples / setting.arms):
        return fewest
    values, sigma = view.values, setting.sigma
    counts = pulls.astype(np.float64)
    leader = int(np.argmax(values + sigma * np.sqrt(2.0 * np.log(samples) / counts)))
    if 2.0 * counts[leader] ** 2 < (counts * counts).sum():
        return leader
    margin = np.maximum(values[leader] - values, 0.0)
    cost = margin * margin / (2.0 * sigma * sigma * (1.0 / counts[leader] + 1.0 / counts)) + np.log(counts)
    cost[leader] = np.inf
    return int(np.argmin(cost))


def track_span(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """`sharp`'s rule for a linear model: the greedy arm for the leader and its challenger of the moment.

    The challenger is chosen anew with the span radius on the pulls known and planned.
    """
    return greedy(pulls, view, span(pulls, view, setting), setting)
