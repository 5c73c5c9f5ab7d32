"""Successive elimination's sampling: every arm that is still in the race once in a turn."""

from __future__ import annotations

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State
from bestarm.core.stopping.elimination import in_race


def elimination(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """One pull of every arm that is not eliminated (`stopping.elimination`).

    Where another test is not settled yet and one arm is left, every arm is pulled once.
    """
    left = in_race(state.pulls, state.estimate, state.estimate.noise, setting)
    if left.sum() == 1:
        left[:] = True
    made = 0
    for k in range(setting.arms):
        if left[k]:
            arms[made], counts[made] = k, 1
            made += 1
    return made


ELIMINATION = Selection(
    "elimination", "every arm that is not eliminated once in a turn", by_turns, one_arm, turn=elimination
)
