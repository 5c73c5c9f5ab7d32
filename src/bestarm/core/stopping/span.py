"""The span test of `sharp`, for features of lower rank than there are arms."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import product
from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SPAN as SPAN_MODEL
from bestarm.core.parameters import PSEUDO_COUNT
from bestarm.core.rules import Test
from bestarm.core.scatter import noise_and_delta
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View
from bestarm.core.stopping.linear import row_products


def span(state: Totals, setting: Setting) -> Reading:
    """The span test on the total."""
    sigma, delta = noise_of_state(state, setting)
    return span_reading(state.estimate, sigma, delta, setting)


def noise_of_state(state: Totals, setting: Setting) -> tuple[float, float]:
    """Sigma, or the bound that takes its place, and what is left of delta."""
    return noise_and_delta(state.residual, state.freedom, setting)


def span_reading(view: View, sigma: float, delta: float, setting: Setting) -> Reading:
    """The span test of `sharp`, for features of lower rank than there are arms.

    In orthonormal coordinates Z of the span, `A = Z' diag(T) Z`, `q(y) = y'A⁻¹y + ρ ‖A⁻¹y‖²`,
    `α(i,k) = σ √( 2 q(z_i − z_k) ( log(1/δ) + ½ log det(I + A/ρ) ) )`.

    *Proof.* Method of mixtures with prior precision ρ/σ² on the span (Abbasi-Yadkori et al. 2011, Theorem 1,
    with V = A + ρI): with probability 1 − δ, at all times, ‖Z'η‖²_{(A+ρI)⁻¹} ≤ 2σ² · threshold; and
    |y'(θ̂ − θ)| = |y'A⁻¹Z'η| ≤ ‖(A+ρI)^½ A⁻¹y‖ ‖Z'η‖_{(A+ρI)⁻¹}, whose first factor is √q(y). One event covers
    all pairs; no bound on ‖θ‖ is needed. Where sigma is not given, a bound takes its place and 0.95 δ that of
    δ, as in `pairs`.
    """
    leader = int(np.argmax(view.values))
    widths = span_widths(setting.features - setting.features[leader], view, setting)
    return read(view.values, leader, widths, 0.0, span_scale(view, sigma, delta), setting.epsilon)


def span_widths(directions: Floats, view: View, setting: Setting) -> Floats:
    """√q(y) of every direction y."""
    mapped = product(directions, view.inverse)
    spread = row_products(mapped, directions) + setting.pseudo_count * row_products(mapped, mapped)
    return np.sqrt(spread)


def span_scale(view: View, sigma: float, delta: float) -> float:
    """`σ √(2 · threshold)`."""
    threshold = math.log(1.0 / delta) + 0.5 * view.log_det
    return sigma * math.sqrt(2.0 * threshold)


def radii(state: Totals, setting: Setting) -> Floats:
    """The radius of every arm's own mean: the event of the proof covers every direction at once."""
    sigma, delta = noise_of_state(state, setting)
    return span_scale(state.estimate, sigma, delta) * span_widths(setting.features, state.estimate, setting)


SPAN = Test(
    "span",
    "a mixture over the features' span, for features of lower rank than there are arms",
    SPAN_MODEL,
    span,
    radii,
    (PSEUDO_COUNT,),
    noise="either",
    shows_index=False,
    growth=(0.3, 1.15),
    how="compares arms over all batches through their features",
)
