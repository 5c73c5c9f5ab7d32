"""Everything an agent will do until its next upload, computed at once from the tally it downloaded.

A rule writes the arms, and how often each is pulled, into the two arrays that it is given, in the order in
which they are handed out, and returns how many arms these are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.estimate import View
from bestarm.core.setting import Setting
from bestarm.core.tally import Counts, Floats

Estimate = Callable[[Counts, Floats, Setting], View]
Foresee = Callable[[View, int, float, Setting], View]
Absorb = Callable[[View, int, Counts, Floats, Setting], View]
Renew = Callable[[View, Counts, Counts, Floats, Setting], View]
Confidence = Callable[[Counts, View, Setting], Reading]
Choose = Callable[[Counts, View, Reading, Setting], int]
Trigger = Callable[[View, Reading, int, Setting], int]
Make = Callable[[Counts, View, Reading, Setting, Foresee, Choose, Trigger, Counts, Counts], int]

STEPS = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """Which arms to pull, and how often each, before the next upload.

    >>> Plan((2, 0), (3, 1)).size
    4
    """

    arms: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """All pulls of the plan together."""
        return sum(self.counts)


class Rules(NamedTuple):
    """The rules that make a method; `make` says whether a batch is one arm or split over several."""

    estimate: Estimate
    foresee: Foresee
    absorb: Absorb
    renew: Renew
    confidence: Confidence
    choose: Choose
    trigger: Trigger
    make: Make


def one_arm(
    pulls: Counts,
    view: View,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Trigger,
    arms: Counts,
    counts: Counts,
) -> int:
    """The paper's plan: one arm until the trigger fires. No arms at all while a design is unsolved."""
    arm = choose(pulls, view, reading, setting)
    if arm < 0:
        return 0
    arms[0] = arm
    counts[0] = max(trigger(view, reading, arm, setting), setting.min_batch)
    return 1


def spread(
    pulls: Counts,
    view: View,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Trigger,
    arms: Counts,
    counts: Counts,
) -> int:
    """`sharp`'s plan: pull by pull on virtual counts, as if every agent did the same as this one.

    The virtual counts are T_k + M · (pulls of k planned in this batch so far). Large batches go in equal steps,
    at least 40 and at least as many as there are arms. Each arm of the batch gets at least `min_batch` pulls.
    """
    size = max(trigger(view, reading, reading.leader, setting), setting.min_batch)
    step = max(size // max(STEPS, setting.arms), setting.min_batch)
    ahead = pulls.copy()
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
