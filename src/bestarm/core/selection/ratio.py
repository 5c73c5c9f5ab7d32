"""The arm furthest behind its share of the best design for the gap."""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.making import one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import View

UNSOLVED = -2


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


RATIO = Selection(
    "ratio",
    "the arm furthest behind its share in the linear programme for leader and challenger",
    ratio,
    one_arm,
    needs_features=True,
    needs_designs=True,
)
