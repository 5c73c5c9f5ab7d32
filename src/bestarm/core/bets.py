"""What a site adds up of the differences of two arms inside a batch, from its single rewards. No numpy."""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bestarm.core.arrays import Floats

BETS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)  # shares of the wealth, put on "the rival is better"
WIDTH = len(BETS)
PAIR = 3  # of a pair of arms on the same items: how many, Σd, Σd²
GOLDEN = 0.6180339887498949  # the fractions of its multiples are all over [0, 1), and neighbours far apart


def add_against(
    own: Sequence[float] | Floats,
    rival: Sequence[float] | Floats,
    factor: float,
    width: int,
    sums: MutableSequence[float] | Floats,
    start: int,
) -> None:
    """Add what a test asks for, by how many numbers that is, to those of `sums` from `start` on."""
    if width == PAIR:
        add_pairs(own, rival, factor, sums, start)
    else:
        add_bets(own, rival, factor, sums, start)


def add_pairs(
    own: Sequence[float] | Floats,
    rival: Sequence[float] | Floats,
    factor: float,
    sums: MutableSequence[float] | Floats,
    start: int,
) -> None:
    """Add the pairs of rewards on the same items: their number, Σd and Σd². It compiles too.

    d is the rival's less the arm's, times `factor`, which is negative where the lowest is the best.

    >>> sums = [0.0] * PAIR
    >>> add_pairs([0.25, 0.5], [0.5, 1.0], 1.0, sums, 0)
    >>> sums
    [2.0, 0.75, 0.3125]
    """
    for place in range(len(own)):
        margin = factor * (rival[place] - own[place])
        sums[start] += 1.0
        sums[start + 1] += margin
        sums[start + 2] += margin * margin


def place_of(number: int) -> float:
    """Where a trial stands when the rewards of two arms are dealt out to pairs; 17 is far from 16 and 18.

    If rewards depend on when they were made, as on a plate with a slope, and pairs were made in that order,
    their differences would be small, and all of one sign wherever chance has tried one arm later than the
    other: a bet would win too much. For pairs that have nothing to do with the order of shuffled trials either
    sign is as likely.

    >>> [round(place_of(number), 2) for number in (16, 17, 18)]
    [0.89, 0.51, 0.12]
    """
    return number * GOLDEN % 1.0


def add_bets(
    own: Sequence[float] | Floats,
    rival: Sequence[float] | Floats,
    scale: float,
    logs: MutableSequence[float] | Floats,
    start: int,
) -> None:
    """Add `Σ log(1 + λd)` of each bet λ to the numbers of `logs` from `start` on. It compiles too.

    The rewards of an arm and of its rival, each in the order of `place_of`, are dealt out to as many pairs as
    the fewer of them are; d is the rival's mean in a pair less the arm's, times `scale`, which brings it to
    [−1, 1], and is negative where the lowest is the best.

    >>> logs = [0.0] * WIDTH
    >>> add_bets([0.25], [0.5, 1.0], 1.0, logs, 0)
    >>> [round(log, 4) for log in logs[:3]]
    [0.01, 0.0247, 0.0488]
    """
    pairs = min(len(own), len(rival))
    for first in range(pairs):
        margin = scale * (dealt_mean(rival, first, pairs) - dealt_mean(own, first, pairs))
        margin = min(max(margin, -1.0), 1.0)
        for bet in range(WIDTH):
            logs[start + bet] += math.log1p(BETS[bet] * margin)


def dealt_mean(rewards: Sequence[float] | Floats, first: int, step: int) -> float:
    """The mean of every so many-th reward from the first on."""
    total, number = 0.0, 0
    for place in range(first, len(rewards), step):
        total += rewards[place]
        number += 1
    return total / number
