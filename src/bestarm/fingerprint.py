"""Sixteen letters that stand for a problem: an upload names them, so that it can't be for another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from bestarm.reward import HIGHEST, Limits, implied_rewards, middle_of


def fingerprint_of(
    arms: Sequence[str],
    features: Sequence[Sequence[float]] | None,
    sigma: float | None,
    delta: float,
    epsilon: float,
    reward_range: Limits | None,
    centre: float,
    rewards: str | None = None,
    goal: str = HIGHEST,
    sites: str | None = None,
    items: bool = False,
) -> str:
    """That of all that fixes the statistics: not the name, not the means.

    What the first version did not know counts only where it is not what goes without saying, so that a problem
    of that version keeps its letters.

    >>> fingerprint_of(["A", "B"], None, 0.3, 0.05, 0.0, None, 0.0)
    '18566d70caa08ade'
    """
    parts: list[object] = [arms, features, sigma, delta, epsilon, reward_range]
    if centre != middle_of(reward_range):
        parts.append(centre)
    likely = implied_rewards(reward_range)
    usual = {"rewards": likely, "goal": HIGHEST, "sites": None, "items": False}
    said = {"rewards": rewards or likely, "goal": goal, "sites": sites, "items": items}
    unusual = {key: word for key, word in said.items() if word != usual[key]}
    if unusual:
        parts.append(unusual)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
