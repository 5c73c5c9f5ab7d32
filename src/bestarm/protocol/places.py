"""Arms by their names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache


@lru_cache(maxsize=64)
def places_of(arms: tuple[str, ...]) -> Mapping[str | None, int]:
    """The number of each arm. A study's arms are seldom others, and there may be many.

    >>> places_of(("A", "B"))
    {'A': 0, 'B': 1}
    """
    return {arm: place for place, arm in enumerate(arms)}
