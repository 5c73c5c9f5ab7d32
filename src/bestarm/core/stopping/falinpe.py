"""FALinPE's test (Wang et al., UAI 2024, Algorithm 2), for arms with features."""

from __future__ import annotations

import math

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading
from bestarm.core.estimate import RIDGE
from bestarm.core.parameters import GAMMA1, LAMBDA
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View
from bestarm.core.stopping.linear import ridge_radii, ridge_reading


def falinpe(state: Totals, setting: Setting) -> Reading:
    """FALinPE's radius, Theorem 2: α(i,k) = ‖x_i − x_k‖_{V⁻¹} C.

    `C = √λ + (√(2γ₁) M + √(1+γ₁M)) σ √( d log( (2/δ)(1 + (1+γ₂M) N / (min(γ₁,1) λ)) ) )`, for features and
    θ of length at most 1. It is larger than the self-normalised bound of Abbasi-Yadkori et al. (2011), which
    by the lemma in `docs/guarantee.md` already covers the server's tally.
    """
    return ridge_reading(state.estimate, falinpe_scale(state.estimate, setting), setting)


def falinpe_scale(view: View, setting: Setting) -> float:
    """C: the radius of a direction of length 1 in the norm of V⁻¹."""
    agents, gamma1 = setting.agents, setting.gamma1
    gamma2 = setting.gamma_over / setting.gamma_under
    inside = 1.0 + (1.0 + gamma2 * agents) * view.samples / (min(gamma1, 1.0) * setting.regulariser)
    noise = setting.sigma * math.sqrt(setting.dimension * math.log(2.0 / setting.delta * inside))
    inflation = math.sqrt(2.0 * gamma1) * agents + math.sqrt(1.0 + gamma1 * agents)
    return float(math.sqrt(setting.regulariser) + inflation * noise)


def radii(state: Totals, setting: Setting) -> Floats:
    """The radius of every arm's own mean."""
    return ridge_radii(state.estimate, falinpe_scale(state.estimate, setting), setting)


FALINPE = Test(
    "falinpe",
    "the paper's radius for a linear model",
    RIDGE,
    falinpe,
    radii,
    (LAMBDA, GAMMA1),
    counts_agents=True,
    short_features=True,
    how="compares arms over all batches through their features",
)
