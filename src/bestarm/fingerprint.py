"""Sixteen letters that stand for a problem: an upload names them, so that it can't be for another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from bestarm.reward import Limits, middle_of


def fingerprint_of(
    arms: Sequence[str],
    features: Sequence[Sequence[float]] | None,
    sigma: float,
    delta: float,
    epsilon: float,
    reward_range: Limits | None,
    centre: float,
) -> str:
    """That of all that fixes the statistics: not the name, not the means.

    >>> fingerprint_of(["A", "B"], None, 0.3, 0.05, 0.0, None, 0.0)
    '18566d70caa08ade'
    """
    parts = [arms, features, sigma, delta, epsilon, reward_range]
    if centre != middle_of(reward_range):
        parts.append(centre)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
