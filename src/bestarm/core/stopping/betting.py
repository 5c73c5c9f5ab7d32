"""Rule-out for bounded rewards: bets on differences inside batches, with nothing assumed about the noise."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.core.bets import WIDTH
from bestarm.core.breaking import Reading
from bestarm.core.coordinates import none_at_all
from bestarm.core.estimate import foresee_nothing
from bestarm.core.left_over import last_one, still_missing
from bestarm.core.mixture import log_means
from bestarm.core.race import Race, add, begin_with, odds, rivals, shared_weights, single
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.stopping.two_by_two import enter, note_outcomes, rate_of

RATIOS = 0.05 * 40.0 ** (np.arange(WIDTH) / (WIDTH - 1.0))  # log odds ratios of tables, from 0.05 to 2
EQUAL = np.full(WIDTH, 1.0 / WIDTH)


def betting(state: Race, setting: Setting) -> Reading:
    """Rule-out by bets: against each arm somebody bets, pair after pair, that a rival gives more.

    The plan names a rival for each arm. A site deals the rewards of both out to pairs (`core.bets`), and for a
    bet λ the wealth against the arm is multiplied by 1 + λd, d being the rival's mean in a pair less the
    arm's, rewards scaled to [0, 1]. The account is worth the average over eight bets, kept from batch to batch.
    Who has only counts sends no bets; then a batch multiplies the eight by the tables of `two_by_two` for
    eight log odds ratios. An arm is ruled out while its account is worth at least 1/δ, and the stop is that of
    `rule_out`.

    *Proof.* Let k be the best arm in every batch. Given the past, the trials of a batch are independent, and
    which of them form a pair is fixed before their rewards are seen. So each d has mean at most 0, whatever the
    rewards' distribution, 1 + λd ≥ 1 − λ > 0 has mean at most 1, and so has their product over pairs that have
    no trial in common; the rival was named before. Tables have mean at most 1 too (`two_by_two`). Products
    over batches are supermartingales that start at 1, and so is their average; by Ville's inequality it ever
    reaches 1/δ with probability at most δ. The answer is wrong only if the best arm was ruled out: no union
    over arms. (Betting on means: Waudby-Smith and Ramdas 2024.) Where rewards also depend on the place in the
    batch, trials that are shuffled, and pairs that have nothing to do with that order (`core.bets.place_of`),
    take the place of independence.
    """
    return state.reading


def begin(setting: Setting) -> Race:
    """Accounts of the logarithm of a product for each bet, and of how much information there is."""
    return begin_with(WIDTH + 1, setting)


def fold(state: Race, batch: Batch, setting: Setting) -> Race:
    """One more batch: first the accounts, by what was known before it, then the estimates."""
    yes = (batch.sums - batch.pulls * setting.low) / (setting.high - setting.low)
    sites, rate = rate_of(state.sites, batch.site)
    high, low = rivals(state.pulls, state.estimate.values, batch.arms)
    account = state.accounts[0]
    if batch.against.shape[0] > 0:
        stake(account, batch)
        account[WIDTH][batch.arms[low]] += shared_weights(batch.pulls[high], batch.pulls[low])
    else:
        enter(account, batch, yes, high, low, rate, RATIOS)
    brought = add(state, batch)
    note_outcomes(sites, batch.site, yes.sum(), brought)
    samples, old = state.estimate.samples + brought, state.estimate
    noise = (setting.high - setting.low) * math.sqrt(rate * (1.0 - rate))
    view = View(samples, old.values, old.widths, old.inverse, 0.0, noise, 1.0)
    reading, against, missing = judge(view, account, setting)
    return Race(
        state.pulls,
        state.sums,
        view,
        state.accounts,
        state.leaders,
        state.opened,
        0.0,
        0.0,
        sites,
        against,
        missing,
        reading,
    )


def stake(account: Floats, batch: Batch) -> None:
    """Add the logarithms of what the bets came to."""
    for place in range(batch.arms.shape[0]):
        for bet in range(WIDTH):
            account[bet, batch.arms[place]] += batch.against[place * WIDTH + bet]


def judge(view: View, account: Floats, setting: Setting) -> tuple[Reading, Floats, Floats]:
    """What the accounts come to."""
    level = math.log(1.0 / setting.delta)
    highest, worths = log_means(account[:WIDTH], EQUAL)
    missing = still_missing(worths, highest - worths, account[WIDTH], level)
    return last_one(view, worths, missing, level)


def absorb(state: Race, arm: int, reward: float, setting: Setting) -> Race:
    """A single pull is a batch of one arm, which tells nothing about its difference to others."""
    return fold(state, single(arm, reward), setting)


STAKES = Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False)
BETTING = Test(
    "betting",
    "bets on differences of bounded rewards inside batches: sites may differ, the noise may be any",
    STAKES,
    betting,
    noise="none",
    sites_alike=False,
    inside_batches=True,
    in_range=True,
    bets=True,
    odds=odds,
    goes_with=("race", "finish"),
    shows_index=False,
    arms_may_come=True,
    growth=(0.4, 3.2),
    how="bets on differences of arms inside batches",
)
