"""Where each arm's mean lies, for people who watch a study. No method decides by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.tally import Tally
from bestarm.methods.composed import Method


class Interval(NamedTuple):
    """An arm's estimated mean, and the ends of the interval that it lies in; None where they are not known."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


def intervals(method: Method, known: Tally | Any, rewards: Floats | None = None) -> list[Interval]:
    """What a method's state, or a total that came in one piece, says about every arm.

    Where batches have levels of their own, a state has the means on the level of its first batch. With the sums
    of all `rewards` of each arm they are moved together, so that over all pulls they average what the rewards
    do: the mean that an arm would have, had all batches tried all arms alike. What lies between two arms stays.

    The method's own test says how wide the intervals are. All of them hold at once, at every time, with
    probability at least 1 − δ. There are none if the test has none, and for most tests none before every arm
    was pulled. No mean lies outside of the reward range, and no interval does.

    >>> import bestarm
    >>> method = bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=0.3, sites="alike"), agents=2)
    >>> first, second = intervals(method, Tally.of([100, 50], [90.0, 25.0]))
    >>> first.mean, round(first.low, 3), round(first.high, 3), second.mean
    (0.9, 0.802, 0.998, 0.5)
    >>> method = bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=0.3, sites="differ"), agents=2)
    >>> batches = [Tally.of([10, 10], [9.0, 5.0]), Tally.of([10, 10], [5.0, 1.0])]
    >>> state = method.fold(method.begin(batches[0]), batches[1], 1)
    >>> [round(one.mean, 3) for one in intervals(method, state)]
    [0.9, 0.5]
    >>> [round(one.mean, 3) for one in intervals(method, state, np.array([14.0, 6.0]))]
    [0.7, 0.3]
    >>> intervals(method, Tally.of([100, 0], [90.0, 0.0]))[0]
    Interval(mean=0.9, low=None, high=None)
    """
    state = method.begin(known) if isinstance(known, Tally) else known
    ready = not method.test.every_arm or bool(state.pulls.all())
    radii = method.radii(state) if ready else None
    widths = [None] * method.setting.arms if radii is None else radii.tolist()
    limits = method.problem.reward_range or (-np.inf, np.inf)
    means = method.reflect(state.estimate.values)
    if rewards is not None and method.test.radii is None:
        means = means + _apart(means, state.pulls, rewards)
    return [
        Interval() if not pulls else _around(value, radius, limits)
        for pulls, value, radius in zip(state.pulls.tolist(), means.tolist(), widths, strict=True)
    ]


def _apart(means: Floats, pulls: Counts, rewards: Floats) -> float:
    """How far all rewards are above the means, on average."""
    tried = pulls > 0
    return float((rewards[tried] - pulls[tried] * means[tried]).sum()) / max(int(pulls.sum()), 1)


def _around(mean: float, radius: float | None, limits: tuple[float, float]) -> Interval:
    if radius is None or not np.isfinite(radius):
        return Interval(mean)
    # An estimate may lie outside of the range; then its interval reaches to it.
    low, high = min(limits[0], mean), max(limits[1], mean)
    return Interval(mean, max(mean - radius, low), min(mean + radius, high))
