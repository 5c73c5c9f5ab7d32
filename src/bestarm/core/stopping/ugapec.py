"""UGapEc's test (Gabillon et al., NeurIPS 2012), for arms without features."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View


def ugapec(state: Totals, setting: Setting) -> Reading:
    """UGapEc's radius and leader (Gabillon et al. 2012): the arm with the smallest index leads.

    `β_k = σ √( (2/T_k) log(4K t³/δ) )`, `B_k = max_{j≠k} (μ̂_j + β_j) − (μ̂_k − β_k)`, leader = argmin B_k,
    challenger = argmax_{j≠leader} (μ̂_j + β_j); t is the number of pulls so far.
    """
    scale = ugapec_scale(state.estimate, setting)
    values, widths = state.estimate.values, state.estimate.widths
    first, highest, second_highest = 0, -np.inf, -np.inf  # the two highest upper limits
    for k in range(setting.arms):
        limit = values[k] + scale * widths[k]
        if limit > highest:
            first, highest, second_highest = k, limit, highest
        elif limit > second_highest:
            second_highest = limit
    leader, lowest = 0, np.inf
    for k in range(setting.arms):
        rival = second_highest if k == first else highest
        index = rival - values[k] + scale * widths[k]
        if index < lowest:
            leader, lowest = k, index
    return read(values, leader, widths, widths[leader], scale, setting.epsilon)


def ugapec_scale(view: View, setting: Setting) -> float:
    """The radius of an arm with one pull."""
    spread = float(view.samples)
    log_term = math.log(4.0 * setting.counted * spread * spread * spread / setting.delta)
    return float(setting.sigma * math.sqrt(2.0 * log_term))


def radii(state: Totals, setting: Setting) -> Floats:
    """β of every arm."""
    return ugapec_scale(state.estimate, setting) * state.estimate.widths


UGAPEC = Test(
    "ugapec",
    "UGapEc's radius for separate arms",
    SEPARATE,
    ugapec,
    radii,
    how="compares the intervals of arms over all batches",
)
