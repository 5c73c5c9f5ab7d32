"""What the proof of a test needs of a problem, and the problem does not give: one place that says so."""

from __future__ import annotations

from typing import NamedTuple

from bestarm.core.rules import Test
from bestarm.problem import Problem
from bestarm.reward import NORMAL, YES_NO


class Need(NamedTuple):
    """What a test is for, in words that follow "it is for", and what to do about it.

    Where a need is `vital`, the test is not run without it; else there is a warning, and no promise.
    """

    words: str
    remedy: str
    vital: bool = True


def unmet(test: Test, problem: Problem) -> Need | None:
    """The first thing that a proof needs and a problem does not give, apart from sigma, features and items.

    >>> from bestarm.core.stopping.two_by_two import TWO_BY_TWO
    >>> unmet(TWO_BY_TWO, Problem(["A", "B"], sigma=0.3)).words
    'rewards between two known numbers'
    >>> unmet(TWO_BY_TWO, Problem(["A", "B"], rewards="yes-no")) is None
    True
    """
    if test.yes_no and problem.rewards != YES_NO:
        return Need("yes/no outcomes", 'set rewards = "yes-no"')
    if test.in_range and problem.rewards == NORMAL:
        return Need(
            "rewards between two known numbers", 'set rewards = "yes-no", or "bounded" with a reward_range'
        )
    if test.noise == "own" and problem.rewards != NORMAL:
        return Need("rewards whose noise is about normal", "set stopping to betting")
    if test.short_features and problem.features_too_long:
        return Need("features of length at most 1", "set normalise = true", vital=False)
    return None
