"""Successive elimination's sampling: every arm that is still in the race, once in a turn or in phases."""

from __future__ import annotations

import math

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Parameter, Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State
from bestarm.core.stopping.elimination import in_race

FACTOR = Parameter("factor", "by how much the pulls of an arm grow in a phase", default=2.0)


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


def phases(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """So many pulls of every arm that is not eliminated that those of all agents grow by a factor."""
    made = elimination(state, reading, setting, random, arms, counts)
    more = math.ceil((setting.own_selection[0] - 1.0) * float(state.pulls.max()) / setting.agents)
    for place in range(made):
        counts[place] = max(int(more), 1)
    return made


ELIMINATION = Selection(
    "elimination", "every arm that is not eliminated once in a turn", by_turns, one_arm, turn=elimination
)
PHASES = Selection(
    "phases",
    "every arm that is not eliminated, in phases that grow by a factor",
    by_turns,
    one_arm,
    parameters=(FACTOR,),
    turn=phases,
)
