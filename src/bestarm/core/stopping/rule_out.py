"""Rule-out for normal noise: the best arm is the one that is left. The default test of `sharp`."""

from __future__ import annotations

import math

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.coordinates import none_at_all
from bestarm.core.estimate import foresee_nothing
from bestarm.core.left_over import left_over
from bestarm.core.mixture import worths_and_prices
from bestarm.core.race import Race, add, begin_with, led, odds, rivals, shared_weights, single, with_leader
from bestarm.core.rules import Model, Parameter, Test
from bestarm.core.scatter import KNOWN_WELL, noise_and_delta, scatter, steering_noise
from bestarm.core.setting import Setting
from bestarm.core.state import View

RHO = Parameter("pseudo_count", "the mixture's ρ, in pulls of each of two arms", default=9.0)


def rule_out(state: Race, setting: Setting) -> Reading:
    """Rule-out: each arm has its own hypothesis, "this arm is the best, in every batch", and loses it or not.

    An account of i against k collects, over the batches with both, `Z += w (D_i − D_k)` and `V += w`, with `w =
    n_i n_k/(n_i + n_k)`, D being the means of the arms in the batch (`core.race` says which accounts there
    are). Arm k is ruled out while `W_k = 0.9 W(rival account) + 0.1 Σ_j W(account of the j-th leader)/(j(j+1))
    ≥ 1/δ`, W as in `log_worths` with an account's Z and V. Settled when all arms but one are ruled out at this
    moment. With ε > 0 only the leader accounts count, with Z + εV in the place of Z, and it is settled with a
    leader a_j for which all others have W ≥ j(j+1)/δ.

    *Proof.* Let k be the best arm, in every batch. Given the past, the difference D_i − D_k of two means of a
    batch has mean at most 0 and is σ/√w-sub-Gaussian, whatever the batch has in common; i is chosen before the
    batch. So each account is worth a supermartingale that starts at 1 (`log_worths`); one that opens at a
    stopping time gets the share that was set aside for it, and Σ 1/(j(j+1)) = 1. An average of supermartingales
    is one, and by Ville's inequality W_k ever reaches 1/δ with probability at most δ. The answer is wrong only
    if the best arm was ruled out: no union over arms. With ε > 0: if a_j is worse than the best arm k by more
    than ε, the account of a_j against k with Z + εV is worth a supermartingale, and Σ_j δ/(j(j+1)) ≤ δ.

    Where sigma is not given, it is replaced by a bound that it exceeds with probability at most δ/20
    (`scatter_bound`), and δ by 0.95 δ. W_k falls as σ grows wherever it is above 1, also where some of its
    accounts rise: it is an average of terms a eˣ, a ≤ 1 and x in proportion to 1/σ, and x eˣ ≥ eˣ − 1. So
    outside of that event nothing changes.
    """
    return state.reading


def begin(setting: Setting) -> Race:
    """Every account has Z = V = 0."""
    return begin_with(2, setting)


def fold(state: Race, batch: Batch, setting: Setting) -> Race:
    """One more batch: first the accounts and the noise, by what was known before it, then the estimates."""
    means = batch.sums / batch.pulls
    high, low = rivals(state.pulls, state.estimate.values, batch.arms)
    enter(state.accounts[0], batch, means, high, low)
    for row in range(1, state.opened):
        high, low = led(state, batch, row)
        enter(state.accounts[row], batch, means, high, low)
    residual, freedom = state.residual, state.freedom
    if batch.squares.shape[0] > 0:
        well = state.pulls[batch.arms] >= KNOWN_WELL * batch.pulls
        more, free = scatter(state.estimate.values, well, batch, setting.centre)
        residual, freedom = residual + more, freedom + free
    brought = add(state, batch)
    samples, old = state.estimate.samples + brought, state.estimate
    accounts, leaders, opened = with_leader(state, samples)
    noise = steering_noise(residual, freedom, old.values, setting.sigma)
    view = View(samples, old.values, old.widths, old.inverse, 0.0, noise, 1.0)
    sigma, level = noise_and_level(residual, freedom, setting)
    reading, against, missing = judge(view, accounts[:opened], leaders, sigma, level, setting)
    return Race(
        state.pulls,
        state.sums,
        view,
        accounts,
        leaders,
        opened,
        residual,
        freedom,
        state.sites,
        against,
        missing,
        reading,
    )


def enter(accounts: Floats, batch: Batch, means: Floats, high: Counts, low: Counts) -> None:
    """`Z += w (D_i − D_k)`, `V += w` for the arms at some places of the batch."""
    arms, weights = batch.arms[low], shared_weights(batch.pulls[high], batch.pulls[low])
    totals, informations = accounts[0], accounts[1]
    totals[arms] += weights * (means[high] - means[low])
    informations[arms] += weights


def judge(
    view: View, accounts: Floats, leaders: Counts, sigma: float, level: float, setting: Setting
) -> tuple[Reading, Floats, Floats]:
    """What the accounts come to."""
    shape, rho = (accounts.shape[0], setting.arms), setting.pseudo_count
    totals, weights = accounts[:, 0].copy().reshape(-1), accounts[:, 1].copy().reshape(-1)
    worths, prices = worths_and_prices(totals + setting.epsilon * weights, weights, sigma, rho)
    return left_over(
        view,
        worths.reshape(shape),
        prices.reshape(shape),
        weights.reshape(shape),
        leaders,
        level,
        setting.epsilon,
    )


def noise_and_level(residual: float, freedom: float, setting: Setting) -> tuple[float, float]:
    """Sigma, or the bound that takes its place, and the logarithm at which an arm is ruled out."""
    sigma, delta = noise_and_delta(residual, freedom, setting)
    return sigma, math.log(1.0 / delta)


def absorb(state: Race, arm: int, reward: float, setting: Setting) -> Race:
    """A single pull is a batch of one arm, which tells nothing about its difference to others."""
    return fold(state, single(arm, reward), setting)


WITHIN = Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False)
RULE_OUT = Test(
    "rule-out",
    "compares arms inside batches only: sites may differ, and sigma is measured if it is not given",
    WITHIN,
    rule_out,
    parameters=(RHO,),
    noise="either",
    sites_alike=False,
    inside_batches=True,
    odds=odds,
    goes_with=("race", "finish"),
    shows_index=False,
    arms_may_come=True,
    growth=(0.4, 3.2),
    how="compares arms inside batches",
)
