"""Sampling with items: every item of a batch is tried with the same arms."""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.race import Race, tried_little
from bestarm.core.rules import Choose, Fire, Foresee, Selection
from bestarm.core.selection.lookahead import track
from bestarm.core.setting import Setting

LEAST = 2  # items of a batch: one alone does not say how differences scatter


def blocks(
    state: Race,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """The plan with items: the leader and the arms that are not ruled out, all of them on every item.

    An arm that was ruled out is among them while it was `tried_little`. A batch has two items at least.
    """
    inside = (state.missing > 0.0) | tried_little(state.pulls, state.estimate.samples)
    inside[reading.leader] = True
    if inside.sum() < 2:
        inside[reading.challenger] = True
    chosen = np.flatnonzero(inside)
    several = chosen.shape[0]
    size = trigger(state.estimate, reading, reading.leader, setting)
    arms[:several] = chosen
    items = size // several if size == setting.plate else round(size / several)
    counts[:several] = max(items, LEAST, setting.min_batch)
    return several


BLOCKS = Selection(
    "blocks",
    "every item with the leader and the arms that are not ruled out; for problems with items",
    track,
    blocks,
    needs_race=True,
    on_items=True,
)
