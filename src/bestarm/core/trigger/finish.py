"""Batches that aim at the end of a race: `sharp`'s trigger where arms are compared inside batches."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.rules import Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.trigger.aim import EARLY, THRIFT_PARAMETER

# The dial, by what is to be spared: l, growth a, reach h and aim c of a batch.
DIAL = ((1.0, 0.05, 0.7, 0.5), (2.0, 0.07, 1.0, 0.65), (2.2, 0.4, 4.0, 0.85))
CROWD = 25.0  # arms beside the leader that are worth having in one batch
USUAL = 5.0  # arms for which the dial was tuned
BLOCK = 0.5  # of what a batch must have: a plate of so many trials is one
# The same dial for arms with features; l is in pulls a direction.
SPAN_DIAL = ((1.5, 0.03, 0.5, 0.1), (2.0, 0.07, 1.0, 0.4), (2.5, 0.3, 4.0, 0.8))

# The same dial with items: a, h and c. A batch has two items at least.
ITEMS_DIAL = ((0.02, 0.4, 0.1), (0.03, 0.5, 0.2), (0.15, 1.0, 0.4))


def finish(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """A batch of a race: large enough to compare, and so large that all agents together come near the end.

    The evidence of a race is the share of its samples that are there, so `R = N(1/e − 1)` are missing. The
    batch is `min(max(c·R, a·N), h·N, N + 100·K) / M`, but at least `l (m + √m)` pulls for m = min(K − 1, 25):
    with m arms beside the leader a pull brings (√m/(1+√m))² of the information that it could. Many arms err
    less in the sum, so c grows like K^0.4.
    """
    least, growth, reach, aim = DIAL[int(setting.own_trigger[0])]
    others = min(setting.arms - 1.0, CROWD)
    together = toward_end(view, reading, aim * (setting.arms / USUAL) ** 0.4, growth, reach, setting)
    return in_blocks(together / setting.agents, least * view.grain * (others + math.sqrt(others)), setting)


def finish_span(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The same for arms with features: at least `l d` pulls, so that a batch can tell all d directions."""
    least, growth, reach, aim = SPAN_DIAL[int(setting.own_trigger[0])]
    together = toward_end(view, reading, aim, growth, reach, setting)
    return in_blocks(together / setting.agents, max(least * setting.features.shape[1], 2.0), setting)


def finish_items(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The same with items: the arms of a batch become fewer as they are ruled out, so batches stay small."""
    growth, reach, aim = ITEMS_DIAL[int(setting.own_trigger[0])]
    return in_blocks(toward_end(view, reading, aim, growth, reach, setting) / setting.agents, 1.0, setting)


def toward_end(
    view: View, reading: Reading, aim: float, growth: float, reach: float, setting: Setting
) -> float:
    """The pulls of all agents together: `min(max(c·R, a·N), h·N, N + 100·K)`."""
    samples = float(view.samples)
    missing = samples * max(1.0 / max(reading.evidence, 1e-12) - 1.0, 0.0)
    wanted = max(aim * missing, growth * samples)
    return min(wanted, reach * samples, samples + EARLY * setting.arms)


def in_blocks(wanted: float, least: float, setting: Setting) -> int:
    """The pulls of a batch that should have `wanted` and must have `least`, which may be more.

    What is common to a plate should cancel in every comparison, so a batch is one plate, if that is large
    enough to compare.
    """
    if setting.plate >= max(BLOCK * least, 2.0):
        return setting.plate
    return int(np.ceil(max(wanted, least)))


FINISH = Trigger(
    "finish",
    "batches that bring a race near its end, never too small to compare",
    finish,
    parameters=(THRIFT_PARAMETER,),
)

FINISH_ITEMS = Trigger(
    "finish-items",
    "batches of items that bring a race near its end",
    finish_items,
    parameters=(THRIFT_PARAMETER,),
)

FINISH_SPAN = Trigger(
    "finish-span",
    "batches that bring a race of arms with features near its end, each large enough for all directions",
    finish_span,
    needs_linear=True,
    parameters=(THRIFT_PARAMETER,),
)
