"""LUCB's and KL-LUCB's sampling: in each round the leader and the arm with the highest upper limit."""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts, Floats, Random
from bestarm.core.breaking import Reading
from bestarm.core.divergence import reach_up
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import State
from bestarm.core.stopping.chernoff import THRESHOLD
from bestarm.core.stopping.kl_lucb import kl_level
from bestarm.core.stopping.lucb import lucb_scale


def lucb(state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts) -> int:
    """The leader, and of the others the one with the highest `μ̂ + β` (`stopping.lucb` has β)."""
    view = state.estimate
    upper = view.values + lucb_scale(view, view.noise, setting) * view.widths
    return both(int(np.argmax(view.values)), upper, arms, counts)


def kl_lucb(
    state: State, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """The leader, and of the others the one with the highest upper limit of `stopping.kl_lucb`."""
    view = state.estimate
    level = kl_level(view, setting.own_selection[0], setting)
    upper = np.empty(setting.arms)
    for k in range(setting.arms):
        upper[k] = reach_up(float(view.values[k]), level / float(state.pulls[k]))
    return both(int(np.argmax(view.values)), upper, arms, counts)


def both(leader: int, upper: Floats, arms: Counts, counts: Counts) -> int:
    """One pull of the leader and one of the highest of the others."""
    upper[leader] = -np.inf
    arms[0], arms[1] = leader, int(np.argmax(upper))
    counts[0] = counts[1] = 1
    return 2


LUCB = Selection(
    "lucb", "in each turn the leader and the arm with LUCB's highest upper limit", by_turns, one_arm, turn=lucb
)
KL_LUCB = Selection(
    "kl-lucb",
    "in each turn the leader and the arm with KL-LUCB's highest upper limit",
    by_turns,
    one_arm,
    parameters=(THRESHOLD,),
    turn=kl_lucb,
)
