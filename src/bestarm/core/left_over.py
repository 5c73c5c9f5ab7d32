"""What all rule-out tests share: accounts speak against arms, and the arm that is left is the answer."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.breaking import ALMOST, Reading
from bestarm.core.state import View

RIVALS = 0.9  # the share of the wealth that the rival accounts get where epsilon is 0
SLOWEST = 0.2
FIRST = 1.0


def left_over(
    view: View, worths: Floats, prices: Floats, weights: Floats, leaders: Counts, level: float, epsilon: float
) -> tuple[Reading, Floats, Floats]:
    """Who leads, whether all others are ruled out, and the logarithm of what speaks against each arm.

    `worths` has a row for the rival accounts, then one for each leader; `prices` says how much of an account's
    worth its mixture has cost, `weights` how much information it has. An arm is ruled out while its logarithm
    is at least `level`.
    """
    if epsilon > 0.0:
        leader = int(np.argmax(view.values))
        return against_leaders(leader, view, worths, prices, weights, leaders, level, epsilon)
    arms = view.values.shape[0]
    odds = np.full(arms, math.log((1.0 - RIVALS) / worths.shape[0]))  # what no leader has taken yet
    missing = np.full(arms, np.inf)
    for row in range(worths.shape[0]):
        cost = cost_of(row, epsilon)
        odds = np.logaddexp(odds, worths[row] - cost)
        missing = np.minimum(missing, still_missing(worths[row], prices[row], weights[row], level + cost))
    return last_one(view, odds, missing, level)


def last_one(view: View, odds: Floats, missing: Floats, level: float) -> tuple[Reading, Floats, Floats]:
    """The reading where arms need pulls of their own."""
    leader, settled = who_leads(view, odds, level)
    return judged(leader, missing, view.samples, settled), odds, missing


def who_leads(view: View, odds: Floats, level: float) -> tuple[int, bool]:
    """Settled where one arm is left; until then the arm with the largest estimate leads."""
    left = odds < level
    settled = left.sum() == 1
    return int(np.argmax(left)) if settled else int(np.argmax(view.values)), settled


def cost_of(row: int, epsilon: float) -> float:
    """The logarithm of what the accounts of a row must be worth more than the level, by their share of delta.

    For epsilon > 0 row 0 has no share: it steers until an arm leads, and says nothing.
    """
    if epsilon > 0.0:
        return math.log(max(row * (row + 1.0), 1.0))
    return -math.log(RIVALS if row == 0 else (1.0 - RIVALS) / (row * (row + 1.0)))


def still_missing(worths: Floats, prices: Floats, weights: Floats, level: float) -> Floats:
    """How much more information each account needs, if it goes on as it did."""
    share = (worths + prices) / (level + prices)
    return (weights + FIRST) * (1.0 / np.minimum(np.maximum(share, SLOWEST), 1.0) - 1.0)


def against_leaders(
    leader: int,
    view: View,
    worths: Floats,
    prices: Floats,
    weights: Floats,
    leaders: Counts,
    level: float,
    epsilon: float,
) -> tuple[Reading, Floats, Floats]:
    """The same for epsilon > 0: settled with any leader whose own accounts rule out all others."""
    settled, row = False, 0  # no leader yet: the rival accounts steer
    for j in range(1, worths.shape[0]):
        out = worths[j] - cost_of(j, epsilon) >= level
        out[leaders[j]] = True
        if out.all() and not settled:
            settled, leader = True, int(leaders[j])
        if leaders[j] == leader:
            row = j
    cost = cost_of(row, epsilon)
    odds = worths[row] - cost
    if row == 0:  # with a tolerance rivals that are nearly as good speak against the best arm: they steer only
        odds[:] = 0.0
    odds[leader] = 0.0
    missing = still_missing(worths[row], prices[row], weights[row], level + cost)
    return judged(leader, missing, view.samples, settled), odds, missing


def judged(leader: int, missing: Floats, samples: int, settled: bool) -> Reading:
    """The reading, if a unit of information about each arm takes pulls of its own.

    m arms beside the leader, who gets √m times the pulls of each, need (√m + 1)² x pulls for x units of
    information each; Σx + 2‖x‖ + max x is that number, and grows with every need.
    """
    missing[leader] = 0.0
    pulls = missing.sum() + 2.0 * math.sqrt((missing * missing).sum()) + missing.max()
    return with_evidence(leader, missing, samples, pulls, settled)


def with_evidence(leader: int, missing: Floats, samples: int, pulls: float, settled: bool) -> Reading:
    """The reading. Its evidence is the share of all samples that are there already, by what is known now.

    Evidence is 1 or more exactly where it is settled.
    """
    evidence = samples / max(samples + pulls, 1.0)
    evidence = max(evidence, 1.0) if settled else min(evidence, ALMOST)
    challenger = int(np.argmax(missing))
    if challenger == leader:
        challenger = 0 if leader else 1
    return Reading(leader, challenger, np.inf, evidence)
