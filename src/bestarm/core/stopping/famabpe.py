"""FAMABPE's test (Wang et al., UAI 2024, Algorithm 1), for arms without features."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View


def famabpe(state: Totals, setting: Setting) -> Reading:
    """FAMABPE's radius, equation (7): α(i,k) = α(i) + α(k).

    `α(k) = σ √( (2/T_k) log( (4K/δ) ((1+γM) N)² ) )`.

    Hoeffding's inequality for each number of pulls T_k = 1, 2, …, two-sided, with a union over T_k and k.
    Departure: the paper applies it one-sided and to a random number of samples; since N ≥ T_k, the union over
    T_k pays for both within the same constant: Σ_k Σ_T 2·δ/(4K T²) ≤ 0.82 δ.
    """
    view = state.estimate
    leader = int(np.argmax(view.values))
    scale = famabpe_scale(view, setting)
    return read(view.values, leader, view.widths, view.widths[leader], scale, setting.epsilon)


def famabpe_scale(view: View, setting: Setting) -> float:
    """The radius of an arm with one pull."""
    gamma = setting.gamma_over / setting.gamma_under
    spread = (1.0 + gamma * setting.agents) * view.samples
    return float(
        setting.sigma * math.sqrt(2.0 * math.log(4.0 * setting.counted / setting.delta * spread * spread))
    )


def radii(state: Totals, setting: Setting) -> Floats:
    """α(k) of every arm."""
    return famabpe_scale(state.estimate, setting) * state.estimate.widths


FAMABPE = Test(
    "famabpe",
    "the paper's radius for separate arms",
    SEPARATE,
    famabpe,
    radii,
    counts_agents=True,
    how="compares the intervals of arms over all batches",
)
