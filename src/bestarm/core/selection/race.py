"""Sampling for comparisons inside batches: the arms that are not ruled out, side by side with the leader."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Counts
from bestarm.core.bets import GOLDEN
from bestarm.core.breaking import Reading
from bestarm.core.race import Race, tried_little
from bestarm.core.rules import Choose, Fire, Foresee, Selection
from bestarm.core.selection.lookahead import track
from bestarm.core.setting import Setting

FLOOR_SHARE = 0.25  # of a batch: what goes to arms below the floor


def side_by_side(
    state: Race,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """The plan of a race: every arm that is not ruled out about equally often, and the leader among them.

    An arm's share is the fourth root of the information that it still needs: with equal shares the far arms get
    too much, with shares in proportion the arms that were lucky once. The leader gets √(Σ n_k²) pulls, the
    balance at which comparisons with it cost least. A quarter goes to arms that were `tried_little`, if there
    are any. Shares become whole numbers by steps of equal width from a place that moves on with every batch.

    Nothing depends on K² and no step on the one before, so it is fast for ten thousand arms.
    """
    view, leader, least = state.estimate, reading.leader, setting.min_batch
    steps = max(trigger(view, reading, leader, setting) // least, 2)
    samples = float(view.samples)
    shares = np.sqrt(np.sqrt(state.missing))
    shares[leader] = 0.0
    if not shares.any():
        shares[:] = 1.0
        shares[leader] = 0.0
    shares /= shares.sum()
    low = tried_little(state.pulls, view.samples)
    low[leader] = False
    behind = low.sum()
    if behind > 0:
        shares = (1.0 - FLOOR_SHARE) * shares + low * (FLOOR_SHARE / behind)
    balance = math.sqrt((shares * shares).sum())
    lead = min(max(round(steps * balance / (1.0 + balance)), 1), steps - 1)
    reached = np.floor(np.cumsum(shares) * (steps - lead) + (GOLDEN * samples) % 1.0)
    reached[-1] = steps - lead  # what rounding has left over, and never more
    planned = np.empty(setting.arms, np.int64)
    planned[0] = int(reached[0])
    planned[1:] = (np.minimum(reached[1:], steps - lead) - np.minimum(reached[:-1], steps - lead)).astype(
        np.int64
    )
    planned[leader] += lead
    chosen = np.flatnonzero(planned)
    distinct = chosen.shape[0]
    arms[:distinct] = chosen
    counts[:distinct] = planned[chosen] * least
    return distinct


RACE = Selection(
    "race",
    "the arms that are not ruled out, side by side with the leader; for tests that compare inside batches",
    track,
    side_by_side,
    needs_race=True,
)
