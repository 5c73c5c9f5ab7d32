"""Sampling for a fixed budget: sequential halving and successive rejects."""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State
from bestarm.core.stopping.budget import BUDGET, halving_pulls, phases_of, rejects_pulls


def halving(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """All pulls of a phase: the better half of the arms, equally often (`stopping.budget`).

    Departure: the means are those of all pulls so far, not of the last phase alone, as most implementations
    have it. Where another test is not settled at the end, every arm is pulled once in a turn.
    """
    budget, have = setting.own_selection[0], int(state.pulls.max())
    for phase in range(phases_of(setting.arms)):
        pulls, left = halving_pulls(phase, budget, setting.arms)
        if pulls > have:
            return best_of(state, have, left, pulls - have, arms, counts)
    return best_of(state, -1, setting.arms, 1, arms, counts)


def rejects(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """All pulls of a phase: all arms but those that were rejected, equally often (`stopping.budget`)."""
    budget, have = setting.own_selection[0], int(state.pulls.max())
    for phase in range(1, setting.arms):
        pulls = rejects_pulls(phase, budget, setting.arms)
        if pulls > have:
            return best_of(state, have, setting.arms + 1 - phase, pulls - have, arms, counts)
    return best_of(state, -1, setting.arms, 1, arms, counts)


def best_of(state: State, have: int, left: int, more: int, arms: Counts, counts: Counts) -> int:
    """So many more pulls of each of the best arms among those with the most pulls; of all, if `have` is −1."""
    values = state.estimate.values.copy()
    for k in range(values.shape[0]):
        if have >= 0 and state.pulls[k] != have:
            values[k] = -np.inf
    order = np.argsort(-values)
    made = 0
    for place in range(left):
        if values[order[place]] > -np.inf:
            arms[made], counts[made] = order[place], more
            made += 1
    return made


HALVING = Selection(
    "halving",
    "a fixed budget: the better half of the arms after every phase",
    by_turns,
    one_arm,
    parameters=(BUDGET,),
    turn=halving,
)
REJECTS = Selection(
    "rejects",
    "a fixed budget: all arms but the worst after every phase",
    by_turns,
    one_arm,
    parameters=(BUDGET,),
    turn=rejects,
)
