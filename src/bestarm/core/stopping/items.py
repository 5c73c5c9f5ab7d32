"""Rule-out with items: arms are compared on the same thing, with a scale that is measured for each."""

from __future__ import annotations

import math

from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.core.bets import PAIR
from bestarm.core.breaking import Reading
from bestarm.core.coordinates import none_at_all
from bestarm.core.estimate import foresee_nothing
from bestarm.core.left_over import still_missing, who_leads, with_evidence
from bestarm.core.mixture import worths_and_prices
from bestarm.core.race import Race, add, begin_with, odds, single
from bestarm.core.rules import Model, Test
from bestarm.core.scatter import KNOWN_WELL, SHARE, UNKNOWN, scatter_bound
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.stopping.rule_out import RHO

Z, V, R, FREEDOM, SCALE = range(5)  # what the account of an arm has


def items(state: Race, setting: Setting) -> Reading:
    """Rule-out with items: what speaks against an arm are its differences to a rival on the same items.

    A plan names a rival q for every arm k. Of the items that have both, a site sends how many they are, Σd and
    Σd², d = y_q − y_k. An account collects `Z += ½ Σd` and `V += ½ pairs`. Its scale is measured from its own
    differences: inside a batch `R += ½ Σ(d − d̄)²`, pairs − 1 degrees of freedom, and once four times as many
    are known `R += ½ pairs (d̄ − g)²`, one degree, g their mean before the batch. An arm is ruled out while
    `W_k ≥ 1/(0.95 δ)`, W as in `log_worths` with the bound of `scatter_bound` at δ/20 for σ. Settled when all
    arms but one are ruled out at this moment.

    *Proof.* Let k be the best arm in every batch, on the average of the items that its site draws from. Items
    are drawn at random, and the rival was named before, so the d of a batch are independent given the past,
    with a mean of at most 0; what an item has in common for all arms is not in them. They are assumed to be
    about normal with one variance for this arm, written 2σ². So the mean D of n of them is σ/√w-sub-Gaussian
    for w = n/2, and Z and V are those of `log_worths`. Given the past the first part of R is σ²χ², the second
    σ² times a non-central χ²; so by `scatter_bound` the bound is ever below σ with probability at most δ/20,
    and outside of that event W_k reaches 1/(0.95 δ) with probability at most 0.95 δ. The answer is wrong only
    if the best arm was ruled out: only its own scale and its own account count, and there is no union over
    arms. A trial that is missing, for whatever reason that is not its reward, leaves out its pairs.
    """
    return state.reading


def begin(setting: Setting) -> Race:
    """Accounts of Z, V, R, its degrees of freedom and the bound on the scale."""
    state = begin_with(SCALE + 1, setting)
    state.accounts[0, SCALE] = UNKNOWN
    return state


def fold(state: Race, batch: Batch, setting: Setting) -> Race:
    """One more batch: first the accounts, by what was known before it, then the estimates."""
    account = state.accounts[0]
    if batch.against.shape[0] > 0:
        enter(account, batch, SHARE * setting.delta)
    brought = add(state, batch)
    samples, old = state.estimate.samples + brought, state.estimate
    noise = math.sqrt(max(account[R].sum(), 1e-300) / max(account[FREEDOM].sum(), 1.0))
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
        state.sites,
        against,
        missing,
        reading,
    )


def enter(account: Floats, batch: Batch, alpha: float) -> None:
    """Add the pairs of a batch."""
    for place in range(batch.arms.shape[0]):
        arm, start = batch.arms[place], place * PAIR
        pairs, total, square = batch.against[start], batch.against[start + 1], batch.against[start + 2]
        if pairs > 0.0:
            account[R, arm] += 0.5 * max(square - total * total / pairs, 0.0)
            account[FREEDOM, arm] += pairs - 1.0
            if account[V, arm] >= 0.5 * KNOWN_WELL * pairs:
                off = total / pairs - account[Z, arm] / account[V, arm]
                account[R, arm] += 0.5 * pairs * off * off
                account[FREEDOM, arm] += 1.0
            account[Z, arm] += 0.5 * total
            account[V, arm] += 0.5 * pairs
            account[SCALE, arm] = min(scatter_bound(account[R, arm], account[FREEDOM, arm], alpha), UNKNOWN)


def judge(view: View, account: Floats, setting: Setting) -> tuple[Reading, Floats, Floats]:
    """What the accounts come to."""
    level, rho = math.log(1.0 / ((1.0 - SHARE) * setting.delta)), setting.pseudo_count
    worths, prices = worths_and_prices(account[Z] / account[SCALE], account[V], 1.0, rho)
    return last_by_items(view, worths, still_missing(worths, prices, account[V], level), level)


def last_by_items(view: View, worths: Floats, missing: Floats, level: float) -> tuple[Reading, Floats, Floats]:
    """The reading where an item more for an arm is half a unit of information, and one pull.

    The leader has as many items as the arm that needs most.
    """
    leader, settled = who_leads(view, worths, level)
    missing[leader] = 0.0
    pulls = 2.0 * (missing.sum() + missing.max())
    return with_evidence(leader, missing, view.samples, pulls, settled), worths, missing


def absorb(state: Race, arm: int, reward: float, setting: Setting) -> Race:
    """A single pull has nothing to be compared with."""
    return fold(state, single(arm, reward), setting)


ON_ITEMS = Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False)
ITEMS = Test(
    "items",
    "compares arms on the same items: sites may differ, and the scale is measured for each arm",
    ON_ITEMS,
    items,
    parameters=(RHO,),
    noise="own",
    sites_alike=False,
    inside_batches=True,
    pairs=True,
    odds=odds,
    goes_with=("blocks", "finish-items"),
    shows_index=False,
    arms_may_come=True,
    growth=(0.4, 3.2),
    how="compares arms on the same items",
    assumes=("the differences of an arm to its rivals are about normal and scatter alike",),
)
