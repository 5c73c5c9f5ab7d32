"""Rule-out for yes/no rewards, and for bounded ones of which only sums are known: two-by-two tables."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.coordinates import none_at_all
from bestarm.core.elementwise import exp, log
from bestarm.core.estimate import foresee_nothing
from bestarm.core.left_over import left_over
from bestarm.core.mixture import log_means
from bestarm.core.race import Race, add, begin_with, led, odds, rivals, shared_weights, single, with_leader
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.state import View

STEPS = 13
RATIOS = 0.02 * exp(math.log(200.0) * (np.arange(STEPS) / (STEPS - 1.0)))  # log odds ratios, from 0.02 to 4
# What each of them is given of the wealth: most effects lie around 0.3, few are ten times smaller or larger.
WEIGHTS = exp(-0.5 * (log(RATIOS / 0.3) / 1.2) ** 2)
WEIGHTS /= WEIGHTS.sum()
FORGET = 0.5  # what a site's earlier batches count for beside its last one
LEAST_RATE = 1e-6
MOST_GRAIN = 100.0


def two_by_two(state: Race, setting: Setting) -> Reading:
    """Rule-out with two-by-two tables: of arm i and arm k in a batch, how many said yes and how many no.

    With rates p_i > p_k chosen before the batch and `p = (n_i p_i + n_k p_k)/(n_i + n_k)`, a batch multiplies
    an account of i against k by `e = (p_i/p)^{s_i} ((1−p_i)/(1−p))^{n_i−s_i} (p_k/p)^{s_k}
    ((1−p_k)/(1−p))^{n_k−s_k}`, s being sums of rewards scaled to [0, 1]. An account is worth a weighted
    average of these products over a grid of log odds ratios; the two rates are placed around the site's rate in
    its earlier batches. Accounts, shares and the stop are those of `rule_out`.

    *Proof.* Let k be the best arm in the batch. For outcomes in [0, 1] with means x_i ≤ x_k, a^x ≤ 1 − x + ax
    bounds the mean of e by E_i(x_i)^{n_i} E_k(x_k)^{n_k}, E_i(x) = x p_i/p + (1−x)(1−p_i)/(1−p). E_i rises and
    E_k falls in x, so both are at most their value at a common x, where (n_i E_i + n_k E_k)/(n_i + n_k) = 1;
    the inequality of the means then gives at most 1 (two-sample e-variables: Turner, Ly and Grünwald 2024).
    Where the means vary from trial to trial the same holds for their average. So each product is a
    supermartingale that starts at 1, and so is their average; the rest is as in `rule_out`. Rates may differ by
    site and day in any way.
    """
    return state.reading


def begin(setting: Setting) -> Race:
    """Accounts of the logarithm of a product for each odds ratio, and of how much information there is."""
    return begin_with(STEPS + 1, setting)


def fold(state: Race, batch: Batch, setting: Setting) -> Race:
    """One more batch: first the accounts, by what was known before it, then the rates."""
    width = setting.high - setting.low
    yes = (batch.sums - batch.pulls * setting.low) / width
    sites, rate = rate_of(state.sites, batch.site)
    high, low = rivals(state.pulls, state.estimate.values, batch.arms)
    enter(state.accounts[0], batch, yes, high, low, rate, RATIOS)
    for row in range(1, state.opened):
        high, low = led(state, batch, row)
        enter(state.accounts[row], batch, yes, high, low, rate, RATIOS)
    brought = add(state, batch)
    note_outcomes(sites, batch.site, yes.sum(), brought)
    samples, old = state.estimate.samples + brought, state.estimate
    grain = 0.25 / (rate * (1.0 - rate))  # against a coin
    accounts, leaders, opened = with_leader(state, samples / grain)
    noise = width * math.sqrt(rate * (1.0 - rate))
    view = View(samples, old.values, old.widths, old.inverse, 0.0, noise, min(grain, MOST_GRAIN))
    reading, against, missing = judge(view, accounts[:opened], leaders, setting)
    return Race(
        state.pulls,
        state.sums,
        view,
        accounts,
        leaders,
        opened,
        0.0,
        0.0,
        sites,
        against,
        missing,
        reading,
    )


def rate_of(sites: Floats, site: int) -> tuple[Floats, float]:
    """The outcomes of all sites, with room for this one, and the rate that its next batch is expected to have.

    A site that is new is expected to be like the others, and the first one like a coin.
    """
    if site >= sites.shape[0]:
        sites = np.concatenate((sites, np.zeros((site + 1 - sites.shape[0], 2))))
    common = (sites[:, 0].sum() + 0.5) / (sites[:, 1].sum() + 1.0)
    own, pulls = (sites[site, 0], sites[site, 1]) if site >= 0 else (0.0, 0.0)
    rate = (own + common) / (pulls + 1.0)
    return sites, min(max(rate, LEAST_RATE), 1.0 - LEAST_RATE)


def note_outcomes(sites: Floats, site: int, yes: float, pulls: int) -> None:
    """Add a batch to what is known of its site, in place."""
    if site >= 0:
        sites[site, 0] = FORGET * sites[site, 0] + yes
        sites[site, 1] = FORGET * sites[site, 1] + pulls


def enter(
    accounts: Floats, batch: Batch, yes: Floats, high: Counts, low: Counts, rate: float, ratios: Floats
) -> None:
    """Multiply accounts by the tables of the arms at some places of the batch, for each log odds ratio."""
    arms, one, other = batch.arms[low], batch.pulls[high], batch.pulls[low]
    for step in range(ratios.shape[0]):
        logs = accounts[step]
        logs[arms] += log_tables(one, yes[high], other, yes[low], rate, ratios[step])
    informations = accounts[ratios.shape[0]]
    informations[arms] += shared_weights(one, other)


def log_tables(
    one: Counts, yes: Floats, other: Counts, yes_other: Floats, rate: float, log_ratio: float
) -> Floats:
    """log e of tables: p_i and p_k have this odds ratio r, and together the given rate.

    p_k = q solves `n_i rq/(1 + (r−1)q) + n_k q = (n_i + n_k) rate`, a quadratic equation.

    >>> hundred, yes, no = np.array([100]), np.array([30.0]), np.array([20.0])
    >>> log_tables(hundred, yes, hundred, no, 0.25, 0.5).round(3).tolist()
    [1.333]
    """
    ratio, share = math.exp(log_ratio), one / (one + other)
    more = ratio - 1.0
    middle = share * ratio + (1.0 - share) - rate * more
    low = 2.0 * rate / (middle + np.sqrt(middle * middle + 4.0 * (1.0 - share) * more * rate))
    high = ratio * low / (1.0 + more * low)
    both = share * high + (1.0 - share) * low
    logs: Floats = (
        yes * log(high / both)
        + (one - yes) * log((1.0 - high) / (1.0 - both))
        + yes_other * log(low / both)
        + (other - yes_other) * log((1.0 - low) / (1.0 - both))
    )
    return logs


def judge(view: View, accounts: Floats, leaders: Counts, setting: Setting) -> tuple[Reading, Floats, Floats]:
    """What the accounts come to."""
    rows, level = accounts.shape[0], math.log(1.0 / setting.delta)
    highest, worths = np.empty((rows, setting.arms)), np.empty((rows, setting.arms))
    for row in range(rows):
        highest[row], worths[row] = log_means(accounts[row, :STEPS], WEIGHTS)
    return left_over(view, worths, highest - worths, accounts[:, STEPS].copy(), leaders, level, 0.0)


def absorb(state: Race, arm: int, reward: float, setting: Setting) -> Race:
    """A single pull is a batch of one arm, which tells nothing about its difference to others."""
    return fold(state, single(arm, reward), setting)


TABLES = Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False)
TWO_BY_TWO = Test(
    "two-by-two",
    "compares yes/no outcomes inside batches only: sites may differ, and rates may be small",
    TABLES,
    two_by_two,
    noise="none",
    sites_alike=False,
    inside_batches=True,
    in_range=True,
    odds=odds,
    goes_with=("race", "finish"),
    shows_index=False,
    arms_may_come=True,
    growth=(0.4, 4.0),
    waver=1.5,
    how="compares outcomes of arms inside batches",
)
