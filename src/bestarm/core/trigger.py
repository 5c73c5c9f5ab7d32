"""How many pulls until the next upload: the paper's triggers solved for n, and batches that aim at the end."""

from __future__ import annotations

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.estimate import View
from bestarm.core.setting import Setting

EARLY = 100.0  # samples an arm until which a batch may make the samples grow by more than their own number


def every_pull(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """One pull: the single-agent methods know every reward at once."""
    return 1


def count(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The smallest n with `N + n > (1+γ) N` (Algorithm 1, line 11), in whole numbers: no tie can fall wrong.

    That is ⌊Nγ⌋ + 1. The whole part of N over γ's denominator goes by itself, so that no product overflows.
    """
    over, under = setting.gamma_over, setting.gamma_under
    return view.samples // under * over + view.samples % under * over // under + 1


def determinant(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The smallest n with `det(V + n xx')/det V > 1+γ₁` or `N + n > (1+γ₂) N` (Algorithm 2, line 11).

    One arm x is pulled between two uploads, so the ratio of determinants is `1 + n ‖x‖²_{V⁻¹}`.
    """
    row = setting.features[arm]
    step, most = np.dot(row, view.inverse @ row), count(view, reading, arm, setting)
    return exceed(step, setting.gamma1) if most * step > setting.gamma1 else most


def exceed(step: float, level: float) -> int:
    """The smallest whole n ≥ 1 with `n · step > level`, for a step above 0."""
    n = max(int(level / step), 1)
    while n * step <= level:
        n += 1
    return n


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
