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
DIAL = ((1.0, 0.05, 0.7, 0.5), (2.0, 0.07, 1.0, 0.65), (2.2, 0.4, 4.0, 0.95))
CROWD = 25.0  # arms beside the leader that are worth having in one batch
USUAL = 5.0  # arms for which the dial was tuned


def finish(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """A batch of a race: large enough to compare, and so large that all agents together come near the end.

    The evidence of a race is the share of its samples that are there, so `R = N(1/e − 1)` are missing. The
    batch is `min(max(c·R, a·N), h·N, N + 100·K) / M`, but at least `l (m + √m)` pulls for m = min(K − 1, 25):
    with m arms beside the leader a pull brings (√m/(1+√m))² of the information that it could. Many arms err
    less in the sum, so c grows like K^0.4.
    """
    least, growth, reach, aim = DIAL[int(setting.own_trigger[0])]
    samples, others = float(view.samples), min(setting.arms - 1.0, CROWD)
    missing = samples * max(1.0 / max(reading.evidence, 1e-12) - 1.0, 0.0)
    wanted = max(aim * (setting.arms / USUAL) ** 0.4 * missing, growth * samples)
    together = min(wanted, reach * samples, samples + EARLY * setting.arms)
    return int(np.ceil(max(together / setting.agents, least * view.grain * (others + math.sqrt(others)))))


FINISH = Trigger(
    "finish",
    "batches that bring a race near its end, never too small to compare",
    finish,
    parameters=(THRIFT_PARAMETER,),
)
