"""Who leads, who may still be better, and by how much: the paper's breaking index, (4) and (6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.tally import Floats

TINY = 1e-300
HUGE = 1e150  # its square is still a number


class Reading(NamedTuple):
    """Leader, challenger and breaking index of a tally, and the evidence for the leader.

    The server stops when `breaking_index ≤ epsilon`. `evidence` is the smallest squared ratio, over the other
    arms, of the leader's margin (plus epsilon) to its radius: it rises to 1 exactly when the index falls to
    epsilon, and it grows about in proportion to the samples.
    """

    leader: int
    challenger: int
    breaking_index: float
    evidence: float


def read(values: Floats, leader: int, widths: Floats, own: float, scale: float, epsilon: float) -> Reading:
    """The breaking index of a leader, given the radius α(i,k) = scale · (own + widths_k) of its gap to arm k.

    `challenger = argmax_{k≠i} [v_k − v_i + α(i,k)]`, `B` that maximum. Ties go to the lowest index.
    """
    challenger, breaking_index, evidence = -1, -np.inf, np.inf
    for k in range(values.shape[0]):
        if k != leader:
            margin, radius = values[leader] - values[k], scale * (own + widths[k])
            if radius - margin > breaking_index:
                challenger, breaking_index = k, radius - margin
            # Two arms with the same features have margin and radius 0, and need no more evidence.
            evidence = min(evidence, (margin + epsilon + TINY) / (radius + TINY))
    return Reading(leader, challenger, breaking_index, min(max(evidence, 0.0), HUGE) ** 2)
