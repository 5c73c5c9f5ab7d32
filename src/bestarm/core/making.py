"""Plans: which arms, and how often each, computed at once from what is known.

A rule writes the arms, and how often each is pulled, into the two arrays that it is given, in the order in
which they are handed out, and returns how many arms these are.
"""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.rules import Choose, Fire, Foresee
from bestarm.core.setting import Setting
from bestarm.core.state import State, View

STEPS = 40


def one_arm(
    state: State,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """The paper's plan: one arm until the trigger fires. No arms at all while a design is unsolved."""
    arm = choose(state.pulls, state.estimate, reading, setting)
    if arm < 0:
        return 0
    arms[0] = arm
    counts[0] = max(trigger(state.estimate, reading, arm, setting), setting.min_batch)
    return 1


def spread(
    state: State,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """`sharp`'s plan: pull by pull on virtual counts, as if every agent did the same as this one.

    The virtual counts are T_k + M · (pulls of k planned in this batch so far). Large batches go in equal steps,
    at least 40 and at least as many as there are arms. Each arm of the batch gets at least `min_batch` pulls.
    """
    view = state.estimate
    size = max(trigger(view, reading, reading.leader, setting), setting.min_batch)
    step = max(size // max(STEPS, setting.arms), setting.min_batch)
    ahead = state.pulls.copy()
    planned = np.zeros(setting.arms, np.int64)
    distinct, left = 0, size
    while left > 0:
        arm = choose(ahead, view, reading, setting)
        take = step if left - step >= setting.min_batch else left
        if planned[arm] == 0:
            arms[distinct] = arm
            distinct += 1
        planned[arm] += take
        ahead[arm] += take * setting.agents
        left -= take
        if left > 0:
            view = foresee(view, arm, take * setting.agents, setting)
    for place in range(distinct):
        counts[place] = planned[arms[place]]
    return distinct


def by_turns(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """No arm: the choice of a selection that goes by turns, which nobody asks for."""
    return -1
