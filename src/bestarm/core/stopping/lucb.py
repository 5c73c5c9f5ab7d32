"""LUCB's test (Kalyanakrishnan et al., ICML 2012): the leader's interval lies above all others."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View


def lucb(state: Totals, setting: Setting) -> Reading:
    """Stop when the highest upper limit of the others is at most ε above the leader's lower limit.

    `β_k = σ √( (2/T_k) log(5K r⁴/(4δ)) )`, r = 1 + ⌈(t − K)/2⌉ the rounds of two pulls so far.

    *Proof.* Hoeffding's inequality for one side of each arm, with a union over T_k = 1, 2, …: under LUCB's own
    selection T_k ≤ r, so the errors add up to K Σ_T 4δ/(5K T⁴) ≤ 0.87 δ. Under any other T_k ≤ t − K + 1, so
    that r ≥ 1 + ⌈(T_k − 1)/2⌉, which is every whole number above 1 twice: 0.8 δ (1 + 2 Σ_{r≥2} 1/r⁴) ≤ 0.94 δ.
    Departure: printed for rewards in [0, 1], which is σ = ½.
    """
    view = state.estimate
    leader = int(np.argmax(view.values))
    scale = lucb_scale(view, setting.sigma, setting)
    return read(view.values, leader, view.widths, view.widths[leader], scale, setting.epsilon)


def lucb_scale(view: View, sigma: float, setting: Setting) -> float:
    """The radius of an arm with one pull."""
    rounds = 1.0 + (max(view.samples - setting.arms, 0) + 1) // 2
    return sigma * math.sqrt(2.0 * math.log(1.25 * setting.counted * rounds**4 / setting.delta))


def radii(state: Totals, setting: Setting) -> Floats:
    """β of every arm, with δ/2 for each side."""
    halved = setting._replace(delta=0.5 * setting.delta)
    return lucb_scale(state.estimate, setting.sigma, halved) * state.estimate.widths


LUCB = Test(
    "lucb",
    "LUCB's radius for separate arms",
    SEPARATE,
    lucb,
    radii,
    how="compares the intervals of arms over all batches",
)
