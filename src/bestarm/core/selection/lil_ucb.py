"""lil'UCB's sampling: the arm with the highest upper limit."""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State
from bestarm.core.stopping.lil_ucb import CONSTANTS, upper_limit


def lil_ucb(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """One pull of the arm with the highest `upper_limit` (`stopping.lil_ucb`)."""
    view, constants = state.estimate, setting.own_selection[0]
    best, highest = 0, -np.inf
    for k in range(setting.arms):
        limit = upper_limit(float(view.values[k]), float(state.pulls[k]), constants, view.noise, setting.delta)
        if limit > highest:
            best, highest = k, limit
    arms[0], counts[0] = best, 1
    return 1


LIL_UCB = Selection(
    "lil-ucb",
    "the arm with lil'UCB's highest upper limit",
    by_turns,
    one_arm,
    parameters=(CONSTANTS,),
    turn=lil_ucb,
)
