"""A plan as a split of traffic: which share of the visitors sees which arm, and about how many there are."""

from __future__ import annotations

from collections.abc import Mapping

from bestarm.core.plan import Plan

MOST = 12  # arms in a sentence
NEAR = 0.02  # shares that differ by less are the same


def split_of(plan: Plan, names: tuple[str, ...]) -> dict[str, float]:
    """Each arm's share of a plan, the largest first.

    >>> split_of(Plan((0, 2), (1, 3)), ("A", "B", "C"))
    {'C': 0.75, 'A': 0.25}
    """
    shares = {names[arm]: count / plan.size for arm, count in zip(plan.arms, plan.counts, strict=True)}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def in_words(split: Mapping[str, float], size: int, what: str = "trials") -> str:
    """A split for people.

    >>> in_words({"A": 0.6204, "B": 0.3796}, 12_345, "visitors")
    'A 62 %, B 38 %, about 12,000 visitors'
    >>> in_words({"A": 0.996, "B": 0.00375, "C": 0.00025}, 400), in_words({"A": 1.0}, 6)
    ('A 100 %, B 0.38 %, C 0.025 %, about 400 trials', 'A 100 %, about 6 trials')
    """
    shown = [f"{arm} {_percent(share)} %" for arm, share in list(split.items())[:MOST]]
    more = [f"{len(split) - MOST} others"] if len(split) > MOST else []
    return f"{', '.join(shown + more)}, about {_about(size):,} {what}"


def differs(split: Mapping[str, float], size: int, counts: Mapping[str, int]) -> bool:
    """Whether counts are clearly others than those of a plan.

    >>> differs({"A": 0.5, "B": 0.5}, 100, {"A": 49, "B": 51})
    False
    >>> differs({"A": 0.5, "B": 0.5}, 100, {"A": 60, "B": 40})
    True
    """
    together = sum(counts.values())
    shares = (abs(counts.get(arm, 0) / together - split.get(arm, 0.0)) for arm in {*split, *counts})
    return max(shares) > NEAR or not 0.9 * size <= together <= 1.1 * size


def _percent(share: float) -> str:
    """A share in percent, with two digits that count, or whole."""
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _about(size: int) -> int:
    """A number with two digits that count."""
    return round(size, min(2 - len(str(size)), 0))
