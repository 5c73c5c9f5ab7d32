"""Comparisons inside batches: what a rule-out test keeps of them, and how it is folded.

A batch is a small experiment of its own: its arms and pulls are fixed before its first reward, and all of it is
made at one site at one time. Whatever is common to the batch cancels in a difference of two of its means, so
nothing is assumed about the sites, the days or the instruments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
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

    `sums` are rewards less the offsets of their batches, and `estimate.values` their means. `shift` is the sum
    of all offsets, each as often as its batch has pulls, for those who show estimates. `residual` is a sum of
    squares with `freedom` degrees of freedom, and `sites` the outcomes of each site, where the test has a use
    for them.

    `odds` are the logarithms of what speaks against each arm, `missing` how much more information is needed to
    rule it out, by what is known now, and `reading` what follows from them: all made anew with every batch.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    shift: float
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
        0.0,
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


def comparisons(state: Race, batch: Batch) -> Counts:
    """Which accounts a batch adds to: rows of (row of the accounts, place of i in the batch, place of k).

    Only what was known before the batch decides.
    """
    arms, values = batch.arms, state.estimate.values
    several = arms.shape[0]
    found = np.empty((several * state.opened, 3), np.int64)
    count, first, second = 0, -1, -1  # the places of the two largest estimates
    for place in range(several):
        if state.pulls[arms[place]] == 0:
            continue
        if first < 0 or ahead(values, arms[place], arms[first]):
            first, second = place, first
        elif second < 0 or ahead(values, arms[place], arms[second]):
            second = place
    for place in range(several):
        rival = second if place == first else first
        if rival >= 0:
            found[count, 0], found[count, 1], found[count, 2] = 0, rival, place
            count += 1
    for row in range(1, state.opened):
        leader = np.flatnonzero(arms == state.leaders[row])
        for place in range(several if leader.shape[0] else 0):
            if place != leader[0]:
                found[count, 0], found[count, 1], found[count, 2] = row, leader[0], place
                count += 1
    return found[:count]


def ahead(values: Floats, one: int, other: int) -> bool:
    """Whether one arm's estimate is the larger; ties go to the lowest index."""
    return bool(values[one] > values[other] or (values[one] == values[other] and one < other))


def shared_weight(one: float, other: float) -> float:
    """`w = n m/(n + m)`: how much the difference of two means of n and m pulls tells."""
    return one * other / (one + other)


def add(state: Race, batch: Batch) -> tuple[int, float]:
    """Add the batch, less its offset, to the estimates, in place; its pulls, and its offset times its pulls.

    The offset is `c = Σ_k u_k (D_k − v_k)/Σ u_k`, `u_k = n_k T_k/(n_k + T_k)`, with T and v before the batch;
    the batch's mean if none of its arms is known. Nothing of the promise rests on these estimates.
    """
    weight, offset, samples, total = 0.0, 0.0, 0, 0.0
    for place in range(batch.arms.shape[0]):
        arm, pulls = batch.arms[place], batch.pulls[place]
        samples += pulls
        total += batch.sums[place]
        if state.pulls[arm] > 0:
            share = shared_weight(pulls, state.pulls[arm])
            weight += share
            offset += share * (batch.sums[place] / pulls - state.estimate.values[arm])
    offset = offset / weight if weight > 0.0 else total / samples
    for place in range(batch.arms.shape[0]):
        arm = batch.arms[place]
        state.pulls[arm] += batch.pulls[place]
        state.sums[arm] += batch.sums[place] - batch.pulls[place] * offset
        state.estimate.values[arm] = state.sums[arm] / state.pulls[arm]
        state.estimate.widths[arm] = 1.0 / np.sqrt(state.pulls[arm])
    return samples, samples * offset


def with_leader(state: Race, grains: float) -> tuple[Floats, Counts, int]:
    """The accounts and their leaders, with one row more if the arm that leads now never did before."""
    accounts, leaders, opened = state.accounts, state.leaders, state.opened
    if grains < SETTLED * state.pulls.shape[0]:
        return accounts, leaders, opened
    leader = int(np.argmax(state.estimate.values))
    for j in range(1, opened):
        if leaders[j] == leader:
            return accounts, leaders, opened
    if opened == leaders.shape[0]:
        accounts = np.concatenate((accounts, np.zeros(accounts.shape)))
        leaders = np.concatenate((leaders, np.full(opened, -1, np.int64)))
    leaders[opened] = leader
    return accounts, leaders, opened + 1
