"""Rule-out for arms with features, one direction at a time: the default test of `sharp` for features."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import product
from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, settled
from bestarm.core.coordinates import difference_coordinates
from bestarm.core.directions import DEFICIT, SPREAD, WEIGHT, at_least, collect
from bestarm.core.estimate import foresee
from bestarm.core.fit import Fit, begin_with, contrasts, learn
from bestarm.core.left_over import cost_of, left_over, with_evidence
from bestarm.core.mixture import worths_and_prices
from bestarm.core.parameters import PSEUDO_COUNT
from bestarm.core.race import ROOMS, opened_for, single
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.stopping.linear import row_products
from bestarm.core.stopping.rule_out import noise_and_level
from bestarm.core.stopping.rule_out_span import against_each, confidence

ALL_AT_ONCE = 0.05  # of delta: the share of the event that covers all directions
SETTLED = 20  # pulls a direction before leaders get accounts


def rule_out_features(state: Fit, setting: Setting) -> Reading:
    """Rule-out along directions: the price is that of one dimension, however many the features have.

    The span test pays ½ log det for all directions at once, most of the threshold where there are many. Here
    an account of i against k collects Z, V and Q and keeps a deficit e along y = z_i − z_k (`core.directions`).
    It is worth `W(Z + e'θ̂ − α(e), Q)`, W as in `log_worths`, with θ̂ and the radius α of `rule_out_span` at
    δ/20. Shares, leaders and the stop are those of `rule_out` with 0.95 δ in the place of δ; for ε > 0 εV is
    added to the first argument. An arm is ruled out too where `rule_out_span` does it, at δ/20.

    *Proof.* Let M = Z − (Σ A_bg)'θ = Σ g'(r_b − A_bθ). Given the past, each term has mean 0 and is √(g'A_bg)
    σ-sub-Gaussian (`rule_out_span`), with g chosen before the batch is seen. So W(M, Q), as in `log_worths`, is
    a supermartingale that starts at 1, however the batches were chosen. Now Σ A_bg = Σ w y − e. Let k be the
    best arm: then y'θ ≤ 0 for every i, so M ≥ Z + e'θ since all w ≥ 0. With ε > 0 and an arm i that is worse
    than k by more than ε: M ≥ Z + e'θ + εV. Outside of an event of probability δ/20 e'θ ≥ e'θ̂ − α(e), at all
    times and for all accounts. W rises with its first argument, so the account is worth at most W(M, Q). The
    rest is as in `rule_out`, with what is left of δ: no union over arms, and none over directions.

    Where sigma is not given, a bound takes its place and 0.95 δ that of δ, as in `rule_out`.
    """
    return state.reading


def begin(setting: Setting) -> Fit:
    """Every account has Z = V = Q = 0, and no deficit."""
    return begin_with(ROOMS, DEFICIT + setting.features.shape[1], setting)


def fold(state: Fit, batch: Batch, setting: Setting) -> Fit:
    """One more batch: first the accounts and the noise, by what was known before it, then the estimates."""
    information, score = contrasts(batch, setting.features)
    if state.determined:
        collect(state, information, score, int(batch.pulls.sum()), setting)
    learned = learn(state, batch, information, score, setting.pseudo_count, setting)
    view = learned.estimate
    accounts, leaders, opened = learned.accounts, learned.leaders, learned.opened
    if view.samples >= SETTLED * score.shape[0]:
        accounts, leaders, opened = opened_for(int(np.argmax(view.values)), accounts, leaders, opened)
    reading, against, missing = judge(learned, accounts[:opened], leaders, setting)
    return Fit(
        learned.pulls,
        learned.sums,
        view,
        learned.information,
        learned.score,
        learned.determined,
        accounts,
        leaders,
        opened,
        learned.residual,
        learned.freedom,
        against,
        missing,
        reading,
    )


def judge(state: Fit, accounts: Floats, leaders: Counts, setting: Setting) -> tuple[Reading, Floats, Floats]:
    """What the accounts come to, with the information that each arm still needs turned into pulls."""
    view, epsilon, rho, rows = state.estimate, setting.epsilon, setting.pseudo_count, accounts.shape[0]
    sigma, level = noise_and_level(state.residual, state.freedom, setting)
    scale = sigma * math.sqrt(2.0 * (level - math.log(ALL_AT_ONCE)) + view.log_det)
    worths, prices = np.empty((rows, setting.arms)), np.empty((rows, setting.arms))
    for row in range(rows):
        leader = int(np.argmax(view.values)) if row == 0 else int(leaders[row])
        weights, spreads = accounts[row, WEIGHT], accounts[row, SPREAD]
        totals = at_least(accounts[row], state, rho, scale) + epsilon * weights
        worths[row], prices[row] = worths_and_prices(totals, spreads, sigma, rho)
        worths[row] += math.log(1.0 - ALL_AT_ONCE)
        if row == 0 or epsilon > 0.0:
            lengths = np.sqrt(confidence(setting.features - setting.features[leader], state, rho))
            out = view.values[leader] - view.values + epsilon >= scale * lengths
            out[leader] = False
            worths[row] = np.where(out, np.maximum(worths[row], level + cost_of(row, epsilon)), worths[row])
    reading, against, missing = left_over(
        view, worths, prices, accounts[:, WEIGHT].copy(), leaders, level, epsilon
    )
    ways = setting.features - setting.features[reading.leader]
    pulls = view.samples * np.max(missing * row_products(product(ways, view.inverse), ways))
    return with_evidence(reading.leader, missing, view.samples, pulls, settled(reading)), against, missing


def absorb(state: Fit, arm: int, reward: float, setting: Setting) -> Fit:
    """A single pull is a batch of one arm, which tells nothing about its difference to others."""
    return fold(state, single(arm, reward), setting)


WITHIN_FEATURES = Model(begin, fold, foresee, absorb, difference_coordinates, linear=True)
RULE_OUT_FEATURES = Test(
    "rule-out-features",
    "compares arms inside batches, one direction at a time: sites may differ, sigma is measured if not given",
    WITHIN_FEATURES,
    rule_out_features,
    parameters=(PSEUDO_COUNT,),
    noise="either",
    sites_alike=False,
    inside_batches=True,
    odds=against_each,
    aside=ALL_AT_ONCE,
    goes_with=("directions", "finish-span"),
    shows_index=False,
    growth=(0.35, 2.9),
    how="compares arms inside batches, one direction of their features at a time",
)
