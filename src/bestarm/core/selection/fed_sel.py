"""Fed-SEL's sampling (Mitra, Hassani and Pappas, 2021): at home until one arm is left, then in rounds."""

from __future__ import annotations

from bestarm.core.arrays import Counts, Random
from bestarm.core.breaking import Reading
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Parameter, Selection
from bestarm.core.setting import Setting
from bestarm.core.stopping.fed_sel import Owned, winners

STEPS = Parameter("steps", "pulls of a site's winner between two rounds", "whole", 100)


def fed_sel(
    state: Owned, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """One pull of every arm of the sites that have several left; then `steps` of every winner that is left.

    A site that has its winner waits for the others, and for ever for one whose two best arms are equally good.
    """
    rounds, made = winners(state.left, setting.agents) > 0, 0
    for k in range(setting.arms):
        several = 0
        for i in range(k % setting.agents, setting.arms, setting.agents):
            several += state.left[i]
        if state.left[k] and (rounds or several > 1):
            arms[made] = k
            counts[made] = int(setting.own_selection[0]) if rounds else 1
            made += 1
    return made


def uploads(state: Owned) -> int:
    """What the sites have sent."""
    return state.sent


FED_SEL = Selection(
    "fed-sel",
    "every arm of a site with several left, then the winners of the sites in rounds",
    by_turns,
    one_arm,
    parameters=(STEPS,),
    reads=("fed-sel",),
    gets_stuck=True,
    turn=fed_sel,
    uploads=uploads,
)
