"""All arms in turn."""

from __future__ import annotations

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State


def uniform(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """Every arm once. Nobody looks in between, so a turn may as well be one pull of each."""
    for k in range(setting.arms):
        arms[k], counts[k] = k, 1
    return setting.arms


UNIFORM = Selection("uniform", "every arm once in a turn", by_turns, one_arm, turn=uniform)
