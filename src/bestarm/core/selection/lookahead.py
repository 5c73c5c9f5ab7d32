"""`sharp`'s sampling: a plan over several arms, made pull by pull on the counts that it leads to."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.elementwise import log
from bestarm.core.making import spread
from bestarm.core.rules import Selection
from bestarm.core.selection.greedy import greedy
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.stopping.span import span_reading


def track(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """`sharp`'s rule for separate arms: a floor, an optimistic leader, and the balance of an optimal design.

    An arm with fewer than min(√(5N/K), N/(4K)) pulls goes first. Without a floor an arm can starve after an
    unlucky start; this one takes at most a quarter of the samples, and a vanishing share in the end. Then
    leader i = argmax μ̂_k + σ√(2 log N / T_k); challenger = argmin_{k≠i} of the cost of confusion
    `(μ̂_i − μ̂_k)₊² / (2σ²(1/T_i + 1/T_k)) + log T_k`; the leader is pulled if T_i² < Σ_{k≠i} T_k², which is
    the balance of the lower bound's design for Gaussian arms (Garivier and Kaufmann 2016), otherwise the
    challenger. The guarantee does not depend on the sampling rule.
    """
    fewest = int(pulls.argmin())
    samples = float(pulls.sum())
    if pulls[fewest] < min(math.sqrt(5.0 * samples / setting.arms), 0.25 * samples / setting.arms):
        return fewest
    values, sigma = view.values, view.noise
    counts = pulls.astype(np.float64)
    leader = int((values + sigma * np.sqrt(2.0 * math.log(samples) / counts)).argmax())
    if 2.0 * counts[leader] ** 2 < (counts * counts).sum():
        return leader
    margin = np.maximum(values[leader] - values, 0.0)
    cost = margin * margin / (2.0 * sigma * sigma * (1.0 / counts[leader] + 1.0 / counts)) + log(counts)
    cost[leader] = np.inf
    return int(cost.argmin())


def track_span(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """`sharp`'s rule for a linear model: the greedy arm for the leader and its challenger of the moment.

    The challenger is chosen anew with the span radius on the pulls known and planned.
    """
    return greedy(pulls, view, span_reading(view, view.noise, setting.delta, setting), setting)


LOOKAHEAD = Selection(
    "lookahead",
    "a plan over several arms that looks ahead on the pulls that it plans",
    track,
    spread,
    choose_linear=track_span,
)
