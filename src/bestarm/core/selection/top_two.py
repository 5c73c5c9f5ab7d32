"""Top-two sampling: a leader and a challenger, and a coin that says which of them is pulled."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.divergence import OUTCOMES, YES_NO, cost
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State

MOST_DRAWS = 1000  # of all arms, until TTTS gives up


def eb_tc(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """The empirical best, and the arm that is the cheapest to confuse with it (Jourdan et al., NeurIPS 2022).

    It can get stuck: an arm that was unlucky at the start is far behind, costs much, and is never tried again.
    """
    leader = int(np.argmax(state.estimate.values))
    return toss(leader, cheapest(state, leader, 0.0, setting), random, arms, counts)


def eb_tci(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """The same with log T_j added to the cost of arm j: an arm that was seldom pulled comes up sooner."""
    leader = int(np.argmax(state.estimate.values))
    return toss(leader, cheapest(state, leader, 1.0, setting), random, arms, counts)


def t3c(state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts) -> int:
    """The best arm of a draw from the posterior, and the arm that is the cheapest to confuse with it.

    Shang et al., AISTATS 2020.
    """
    leader = best_of_draw(state, setting, random)
    return toss(leader, cheapest(state, leader, 0.0, setting), random, arms, counts)


def ttts(state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts) -> int:
    """The best arm of a draw from the posterior, and the first other arm that is best in a further draw.

    Russo, COLT 2016. The surer it is, the longer the challenger is in coming: more than 1/δ draws of all arms
    for each pull near the end. Departure: after 1,000 draws it takes the arm that T3C would.
    """
    leader = best_of_draw(state, setting, random)
    for _ in range(MOST_DRAWS):
        challenger = best_of_draw(state, setting, random)
        if challenger != leader:
            return toss(leader, challenger, random, arms, counts)
    return toss(leader, cheapest(state, leader, 0.0, setting), random, arms, counts)


def toss(leader: int, challenger: int, random: Random, arms: Counts, counts: Counts) -> int:
    """One pull of the leader or of the challenger, each with probability ½."""
    arms[0] = leader if random.standard_normal() < 0.0 else challenger
    counts[0] = 1
    return 1


def cheapest(state: State, leader: int, penalty: float, setting: Setting) -> int:
    """The arm j with the smallest `cost(leader, j) + penalty · log T_j`; ties to fewer pulls."""
    pulls, view, outcomes = state.pulls, state.estimate, setting.own_selection[0]
    found, lowest = -1, np.inf
    for k in range(setting.arms):
        if k != leader:
            price = cost(leader, k, pulls, view.values, outcomes, view.noise)
            price += penalty * math.log(float(pulls[k]))
            if price < lowest or (price == lowest and pulls[k] < pulls[found]):
                found, lowest = k, price
    return found


def best_of_draw(state: State, setting: Setting, random: Random) -> int:
    """The best arm of one draw from the posterior: N(μ̂, σ²/T) without a prior, or Beta(1 + ones, 1 + zeros)."""
    pulls, view = state.pulls, state.estimate
    found, highest = 0, -np.inf
    for k in range(setting.arms):
        value, count = float(view.values[k]), float(pulls[k])
        if setting.own_selection[0] == YES_NO:
            drawn = random.beta(1.0 + count * value, 1.0 + count * (1.0 - value))
        else:
            drawn = value + view.noise / math.sqrt(count) * random.standard_normal()
        if drawn > highest:
            found, highest = k, drawn
    return found


EB_TC = Selection(
    "eb-tc",
    "top two: the empirical best, or the arm cheapest to confuse with it; it can get stuck",
    by_turns,
    one_arm,
    parameters=(OUTCOMES,),
    turn=eb_tc,
    gets_stuck=True,
)
EB_TCI = Selection(
    "eb-tci",
    "top two: the empirical best, or the arm cheapest to confuse with it, arms seldom pulled first",
    by_turns,
    one_arm,
    parameters=(OUTCOMES,),
    turn=eb_tci,
)
T3C = Selection(
    "t3c",
    "top two: the best of a posterior draw, or the arm cheapest to confuse with it",
    by_turns,
    one_arm,
    parameters=(OUTCOMES,),
    turn=t3c,
)
TTTS = Selection(
    "ttts",
    "top two: the best of a posterior draw, or of another draw",
    by_turns,
    one_arm,
    parameters=(OUTCOMES,),
    turn=ttts,
)
