"""`sharp`'s trigger: batches that aim at the end."""

from __future__ import annotations

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.rules import Parameter, Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View

EARLY = 100.0  # samples an arm until which a batch may make the samples grow by more than their own number
# The dial: growth a, reach h and aim c of a batch, by what is to be spared.
THRIFT = {"samples": (0.02, 0.3, 0.1), "balanced": (0.05, 1.4, 0.18), "messages": (0.2, 4.0, 0.3)}

THRIFT_PARAMETER = Parameter("thrift", "what to spare", "word", "balanced", tuple(THRIFT))


def aim(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """`sharp`'s batch: grow geometrically while little is known, aim at the end when it comes into sight.

    The evidence e grows about in proportion to the samples, so about `R = N(1/e − 1)` are missing. The batch is
    `max(1, ⌈ min(max(c·R, a·N), h·N, N + 100·K) / M ⌉)`. The last limit keeps a run whose evidence is late by
    bad luck from growing by the factor 1 + h each time; without it the longest runs are much longer.
    """
    samples = float(view.samples)
    missing = samples * max(1.0 / max(reading.evidence, 1e-12) - 1.0, 0.0)
    limit = min(setting.reach * samples, samples + EARLY * setting.arms)
    together = min(max(setting.aim * missing, setting.growth * samples), limit)
    return max(1, int(np.ceil(together / setting.agents)))


AIM = Trigger(
    "aim",
    "batches that grow while little is known and aim at the end when it comes into sight",
    aim,
    parameters=(THRIFT_PARAMETER,),
)
