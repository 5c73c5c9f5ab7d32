"""LinGapE's test (Xu et al., AISTATS 2018), for arms with features."""

from __future__ import annotations

import math

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading
from bestarm.core.estimate import RIDGE
from bestarm.core.parameters import LAMBDA
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View
from bestarm.core.stopping.linear import ridge_radii, ridge_reading


def lingape(state: Totals, setting: Setting) -> Reading:
    """LinGapE's radius (Xu et al. 2018), with ‖θ‖ ≤ 1: α(i,k) = ‖x_i − x_k‖_{V⁻¹} C.

    `C = σ √( 2 log( K² det(V)^½ / (λ^{d/2} δ) ) ) + √λ`.
    """
    return ridge_reading(state.estimate, lingape_scale(state.estimate, setting), setting)


def lingape_scale(view: View, setting: Setting) -> float:
    """C: the radius of a direction of length 1 in the norm of V⁻¹."""
    log_term = 2.0 * math.log(setting.counted) + 0.5 * view.log_det - math.log(setting.delta)
    return float(setting.sigma * math.sqrt(2.0 * log_term) + math.sqrt(setting.regulariser))


def radii(state: Totals, setting: Setting) -> Floats:
    """The radius of every arm's own mean."""
    return ridge_radii(state.estimate, lingape_scale(state.estimate, setting), setting)


LINGAPE = Test(
    "lingape",
    "LinGapE's radius for a linear model",
    RIDGE,
    lingape,
    radii,
    (LAMBDA,),
    short_features=True,
    how="compares arms over all batches through their features",
)
