"""Who leads, who may still be better, and whether that is settled: the paper's breaking index, (4) and (6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Flags, Floats

TINY = 1e-300
HUGE = 1e150  # its square is still a number
ALMOST = 1.0 - 2.0**-53  # the largest number below 1


class Reading(NamedTuple):
    """What a test's state says: leader, challenger, breaking index, and the evidence for the leader.

    The evidence rises to 1 exactly when the test is satisfied (`settled`), and grows about in proportion to the
    samples. For a test with a radius it is the smallest squared ratio, over the other arms, of the leader's
    margin (plus epsilon) to its radius, and reaches 1 exactly when the breaking index falls to epsilon.
    """

    leader: int
    challenger: int
    breaking_index: float
    evidence: float


def settled(reading: Reading) -> bool:
    """Whether the best arm is known. This is the stop, wherever there is one."""
    return reading.evidence >= 1.0


def read(values: Floats, leader: int, widths: Floats, own: float, scale: float, epsilon: float) -> Reading:
    """The breaking index of a leader, given the radius α(i,k) = scale · (own + widths_k) of its gap to arm k.

    `challenger = argmax_{k≠i} [v_k − v_i + α(i,k)]`, `B` that maximum. Ties go to the lowest index. Evidence
    and index are rounded apart; where they disagree about the stop, the index decides.
    """
    challenger, breaking_index, evidence = -1, -np.inf, np.inf
    best = float(values[leader])  # Python computes much faster with its own numbers than with numpy's
    for k in range(values.shape[0]):
        if k != leader:
            margin, radius = best - float(values[k]), scale * (own + float(widths[k]))
            if radius - margin > breaking_index:
                challenger, breaking_index = k, radius - margin
            # Two arms with the same features have margin and radius 0, and need no more evidence.
            evidence = min(evidence, (margin + epsilon + TINY) / (radius + TINY))
    evidence = min(max(evidence, 0.0), HUGE) ** 2
    evidence = max(evidence, 1.0) if breaking_index <= epsilon else min(evidence, ALMOST)
    return Reading(leader, challenger, breaking_index, evidence)


def best_left(values: Floats, left: Flags) -> int:
    """The arm with the largest value of those that are left; ties go to the lowest index.

    >>> best_left(np.array([0.9, 0.5, 0.5]), np.array([False, True, True]))
    1
    """
    best = -1
    for k in range(values.shape[0]):
        if left[k] and (best < 0 or values[k] > values[best]):
            best = k
    return best


def last_left(leader: int, left: Flags, nearness: Floats) -> Reading:
    """The reading where arms drop out: settled when only the leader is left.

    `nearness` says of each arm how near it is to dropping out, 1 being the end. The challenger is the one of
    those that are left that is furthest from it, and the evidence is its nearness.
    """
    challenger = -1
    for k in range(left.shape[0]):
        if left[k] and k != leader and (challenger < 0 or nearness[k] < nearness[challenger]):
            challenger = k
    if challenger < 0:
        return Reading(leader, 1 if leader == 0 else 0, np.inf, 1.0)
    return Reading(leader, challenger, np.inf, min(nearness[challenger], ALMOST))
