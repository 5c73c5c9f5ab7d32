"""Rule-out for arms with features, all directions at once: the span test on comparisons inside batches."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import product
from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, read
from bestarm.core.coordinates import difference_coordinates
from bestarm.core.estimate import foresee
from bestarm.core.fit import Fit, begin_with, contrasts, learn
from bestarm.core.left_over import still_missing
from bestarm.core.parameters import PSEUDO_COUNT
from bestarm.core.race import single
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.stopping.linear import row_products
from bestarm.core.stopping.rule_out import noise_and_level


def rule_out_span(state: Fit, setting: Setting) -> Reading:
    """The span test where sites differ: `Ã = Σ A_b` and `r̃ = Σ r_b` take the places of Z'diag(T)Z and Z'S.

    In orthonormal coordinates of the features' differences, `θ̂ = Ã⁻¹r̃`, `q(y) = y'Ã⁻¹y + ρ ‖Ã⁻¹y‖²`,
    `α(i,k) = σ √( 2 q(z_i − z_k) ( log(1/δ) + ½ log det(I + Ã/ρ) ) )`; infinite until Ã can be inverted.

    *Proof.* Let η_b be the noise of a batch, given the past of independent σ-sub-Gaussian terms, and C =
    diag(n) − nn'/|n|, which takes whatever is common to the batch to 0 and has C diag(1/n) C = C. So r_b − A_bθ
    = Z'C diag(1/n) η_b, and for every s E exp(s'(r_b − A_bθ)/σ²) ≤ exp(s'A_bs/(2σ²)) given the past. Then
    exp(s'(r̃ − Ãθ)/σ² − s'Ãs/(2σ²)) is a supermartingale that starts at 1, and so is its mixture over s with the
    normal density of covariance σ²/ρ, which is det(I + Ã/ρ)^−½ exp(‖r̃ − Ãθ‖²_{(Ã+ρI)⁻¹}/(2σ²)). By Ville's
    inequality it ever reaches 1/δ with probability at most δ; and |y'(θ̂ − θ)| = |y'Ã⁻¹(r̃ − Ãθ)| ≤ √q(y)
    ‖r̃ − Ãθ‖_{(Ã+ρI)⁻¹}. One event covers all pairs.

    Where sigma is not given, a bound takes its place and 0.95 δ that of δ, as in `rule_out`.
    """
    return state.reading


def begin(setting: Setting) -> Fit:
    """Nothing known about any direction, and no accounts."""
    return begin_with(0, 0, setting)


def fold(state: Fit, batch: Batch, setting: Setting) -> Fit:
    """One more batch: the noise by what was known before it, then the estimates, then what they come to."""
    information, score = contrasts(batch, setting.features)
    learned = learn(state, batch, information, score, setting.pseudo_count, setting)
    view = learned.estimate
    sigma, level = noise_and_level(learned.residual, learned.freedom, setting)
    leader = int(np.argmax(view.values))
    directions = setting.features - setting.features[leader]
    lengths = np.sqrt(confidence(directions, learned, setting.pseudo_count))
    scale = sigma * math.sqrt(2.0 * level + view.log_det)
    reading = read(view.values, leader, lengths, 0.0, scale, setting.epsilon)
    against = speaks_against(view.values[leader] - view.values + setting.epsilon, lengths * sigma, view.log_det)
    against[leader] = 0.0
    missing = still_missing(
        against, np.full(setting.arms, 0.5 * view.log_det), known_of(directions, learned), level
    )
    missing[leader] = 0.0
    return Fit(
        learned.pulls,
        learned.sums,
        view,
        learned.information,
        learned.score,
        learned.determined,
        learned.accounts,
        learned.leaders,
        learned.opened,
        learned.residual,
        learned.freedom,
        against,
        missing,
        reading,
    )


def confidence(directions: Floats, state: Fit, rho: float) -> Floats:
    """q(y) of every direction y; infinite where nothing is known yet, and 0 where there is no difference."""
    if not state.determined:
        return np.where((directions != 0.0).sum(axis=1) > 0, np.inf, 0.0)
    mapped = product(directions, state.estimate.inverse)
    return row_products(mapped, directions) + rho * row_products(mapped, mapped)


def known_of(directions: Floats, state: Fit) -> Floats:
    """How much information there is about every direction, `1/(y'Ã⁻¹y)`; 0 where there is no difference."""
    spread = row_products(product(directions, state.estimate.inverse), directions)
    return np.where(spread > 0.0, 1.0 / np.where(spread > 0.0, spread, 1.0), 0.0)


def speaks_against(margins: Floats, lengths: Floats, log_det: float) -> Floats:
    """log(1/α) for the smallest α at which an arm would be ruled out; infinite for a twin of the leader."""
    different = lengths > 0.0
    ratio = np.maximum(margins, 0.0) / np.where(different, lengths, 1.0)
    return np.where(different, 0.5 * ratio * ratio - 0.5 * log_det, np.inf)


def against_each(state: Fit, setting: Setting) -> Floats:
    """The logarithm of what speaks against each arm."""
    return state.odds


def absorb(state: Fit, arm: int, reward: float, setting: Setting) -> Fit:
    """A single pull is a batch of one arm, which tells nothing about its difference to others."""
    return fold(state, single(arm, reward), setting)


WITHIN_SPAN = Model(begin, fold, foresee, absorb, difference_coordinates, linear=True)
RULE_OUT_SPAN = Test(
    "rule-out-span",
    "the span test on comparisons inside batches: sites may differ, and sigma is measured if it is not given",
    WITHIN_SPAN,
    rule_out_span,
    parameters=(PSEUDO_COUNT,),
    noise="either",
    sites_alike=False,
    inside_batches=True,
    odds=against_each,
    goes_with=("directions", "finish-span"),
    shows_index=False,
    growth=(0.3, 1.15),
    how="compares arms inside batches through their features",
)
