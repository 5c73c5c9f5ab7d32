"""Comparisons inside batches: what a rule-out test keeps of them, and how it is folded.

A batch is a small experiment of its own: its arms and pulls are fixed before its first reward, and all of it is
made at one site at one time. Whatever is common to the batch cancels in a difference of two of its means, so
nothing is assumed about the sites, the days or the instruments.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Flags, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.breaking import Reading
from bestarm.core.setting import Setting
from bestarm.core.state import View

# Pulls an arm, on average, before leaders get accounts: the first ones lead by luck, and each takes a share.
SETTLED = 10
ROOMS = 4  # rows of accounts at first; they double


class Race(NamedTuple):
    """Accounts of what speaks against each arm, and estimates that steer.

    An account is of an arm i against an arm k, and grows with the batches that have both; what it collects is
    the test's own affair (`accounts[row, :, k]`). In row 0, the rival accounts, i is in each batch the other
    arm with the largest estimate so far. In row j it is `leaders[j]`, the j-th arm that ever led, from the
    batch after that on; `opened` rows are in use. All choices are made before the batch is seen.

    `sums` are rewards less the offsets of their batches, and `estimate.values` their means, on the scale of the
    first batch. `residual` is a sum of squares with `freedom` degrees of freedom, and `sites` has the outcomes
    of each site, where the test has a use for them.

    `odds` are the logarithms of what speaks against each arm, `missing` how much more information is needed to
    rule it out, by what is known now, and `reading` what follows from them: all made anew with every batch.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    accounts: Floats
    leaders: Counts
    opened: int
    residual: float
    freedom: float
    sites: Floats
    odds: Floats
    missing: Floats
    reading: Reading


def begin_with(width: int, setting: Setting) -> Race:
    """No pulls, and accounts of so many numbers, all 0: every arm may be the best."""
    arms = setting.arms
    nothing = np.full(arms, -np.inf), np.full(arms, np.inf)
    return Race(
        np.zeros(arms, np.int64),
        np.zeros(arms),
        View(0, nothing[0], nothing[1], setting.features[:0], 0.0, setting.sigma, 1.0),
        np.zeros((ROOMS, width, arms)),
        np.full(ROOMS, -1, np.int64),
        1,
        0.0,
        0.0,
        np.zeros((0, 2)),
        np.zeros(arms),
        np.zeros(arms),
        Reading(0, 1, np.inf, 0.0),
    )


def rivals(pulls: Counts, values: Floats, arms: Counts) -> tuple[Counts, Counts]:
    """Of each of these arms the other one with the largest estimate: their places, and those of the arms.

    Only what was known before the batch decides; ties go to the lowest index. Without a rival an arm is left
    out.
    """
    several = arms.shape[0]
    values = values[arms]
    values[pulls[arms] == 0] = -np.inf
    first = int(np.argmax(values))
    high = np.full(several, first)
    if values[first] == -np.inf:
        return high[:0], high[:0]
    values[first] = -np.inf
    high[first] = int(np.argmax(values))
    low = np.arange(several)
    if values[high[first]] == -np.inf:
        low = low[low != first]
    return high[low], low


def name_rivals(pulls: Counts, values: Floats, arms: Counts, named: Counts) -> None:
    """Write down the rival of each arm of a plan, −1 where there is none."""
    high, low = rivals(pulls, values, arms)
    named[:] = -1
    named[low] = arms[high]


def tried_little(pulls: Counts, samples: int) -> Flags:
    """Arms with fewer than min(√(5N/K), N/(4K)) pulls: one that was ruled out by bad luck must come back."""
    number, arms = float(samples), pulls.shape[0]
    little: Flags = pulls < min(math.sqrt(5.0 * number / arms), 0.25 * number / arms)
    return little


def single(arm: int, reward: float) -> Batch:
    """A single pull as a batch, which tells nothing about differences."""
    one, nothing = np.ones(1, np.int64), np.empty(0)
    return Batch(NOBODY, arm * one, one, np.full(1, reward), nothing, nothing, one[:0])


def led(state: Race, batch: Batch, row: int) -> tuple[Counts, Counts]:
    """The places of a leader and of all others, if it is in the batch."""
    place = np.flatnonzero(batch.arms == state.leaders[row])
    low = np.flatnonzero(batch.arms != state.leaders[row])
    return (np.full(low.shape[0], place[0]), low) if place.shape[0] else (place, place)


def shared_weights(one: Counts, other: Counts) -> Floats:
    """`w = n m/(n + m)`: how much the difference of two means of n and m pulls tells."""
    weights: Floats = one / (one + other) * other
    return weights


def add(state: Race, batch: Batch) -> int:
    """Add the batch, less its offset, to the estimates, in place; the number of its pulls.

    The offset is `c = Σ_k u_k (D_k − v_k)/Σ u_k`, `u_k = n_k T_k/(n_k + T_k)`, with T and v before the batch;
    0 if none of its arms is known. Nothing of the promise rests on these estimates.
    """
    arms, before, samples = batch.arms, state.pulls[batch.arms], int(batch.pulls.sum())
    weights, level = shared_weights(batch.pulls, before), batch.sums / batch.pulls
    known = state.estimate.values[arms]
    known[before == 0] = 0.0
    together = weights.sum()
    offset = (weights * (level - known)).sum() / together if together > 0.0 else 0.0
    pulls, sums = before + batch.pulls, state.sums[arms] + (batch.sums - batch.pulls * offset)
    state.pulls[arms], state.sums[arms] = pulls, sums
    state.estimate.values[arms], state.estimate.widths[arms] = sums / pulls, 1.0 / np.sqrt(pulls)
    return samples


def odds(state: Race, setting: Setting) -> Floats:
    """The logarithm of what speaks against each arm: "so many to one"."""
    return state.odds


def with_leader(state: Race, grains: float) -> tuple[Floats, Counts, int]:
    """The accounts and their leaders, with one row more if the arm that leads now never did before."""
    if grains < SETTLED * state.pulls.shape[0]:
        return state.accounts, state.leaders, state.opened
    return opened_for(int(np.argmax(state.estimate.values)), state.accounts, state.leaders, state.opened)


def opened_for(leader: int, accounts: Floats, leaders: Counts, opened: int) -> tuple[Floats, Counts, int]:
    """The same for the arm that leads once leaders count."""
    for j in range(1, opened):
        if leaders[j] == leader:
            return accounts, leaders, opened
    if opened == leaders.shape[0]:
        accounts = np.concatenate((accounts, np.zeros(accounts.shape)))
        leaders = np.concatenate((leaders, np.full(opened, -1, np.int64)))
    leaders[opened] = leader
    return accounts, leaders, opened + 1
