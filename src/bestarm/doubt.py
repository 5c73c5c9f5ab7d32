"""Whether a number looks like a slip of the pen: one rule for rewards and counts, at every kind of site."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bestarm.reward import Limits

LOOKED_AT = 200  # earlier numbers that a new one is compared with
FEW = 8  # from so many on their spread is known well enough to say what is far from them
MOST_TIMES = 6.0  # further from the median than so many times what nine of ten earlier ones are
SLIP = 7.0  # with few earlier ones: so many times as large; a decimal point in the wrong place is ten times
PERCENT = 50.0  # the same with few of other arms: 84 for 0.84 is a hundred times
FURTHER = 10.0  # and so many times as far; its square with two
LARGEST_TIMES = 3.0  # and than so many times what the furthest of them is
RANGE_IN_NOISE = 16.0  # where the range of rewards is known, this part of it is never far
NORMAL_NINE_OF_TEN = 1.645  # of a normal's deviations are below so many sigma


def is_far(number: float, earlier: Sequence[float], noise: float = 0.0, few: bool = False) -> bool:
    """Whether a number is far from all earlier ones, as a slip of the pen is and good data hardly ever are.

    The distance to the median m is compared with those of the earlier ones: with eight or more a number is far
    if |x − m| is more than 6 times what nine of ten of them have, and more than 3 times the largest. With fewer
    (two, or one if `noise`, the standard error of the number itself, is known) it must be more than 10 times
    the largest, 100 times with two, and at least 7 times as large as every earlier number. So 84 among 0.84s is
    noticed from the third on. `few` is for numbers of several arms, whose differences are no scatter.

    >>> is_far(84, [0.84, 0.79]), is_far(0.9, [0.84, 0.79])
    (True, False)
    >>> is_far(48, [84, 81, 79, 88, 86, 80, 84, 83]), is_far(70, [84, 81, 79, 88, 86, 80, 84, 83])
    (True, False)
    """
    if len(earlier) < (1 if noise > 0.0 else 2):
        return False
    middle = median(earlier)
    distances = sorted(abs(one - middle) for one in earlier)
    least = NORMAL_NINE_OF_TEN * noise
    most = max(distances[-1], least)
    distance = abs(number - middle)
    if len(earlier) >= FEW and not few:
        usual = max(distances[(9 * len(distances) - 1) // 10], least) or most
        return usual > 0.0 and distance > max(MOST_TIMES * usual, LARGEST_TIMES * most)
    slipped = abs(number) >= SLIP * max(map(abs, earlier)) > 0.0
    return slipped and distance > FURTHER * most * (FURTHER if len(earlier) == 2 and least == 0.0 else 1.0)


def question(what: str, number: float, earlier: Sequence[float], which: str = "") -> str:
    """Why a number is doubtful, and what to do; it must be answered from the notebook.

    >>> question("the reward for 'A'", 84.0, [0.84, 0.79], "of 'A' ")
    "the reward for 'A' is 84, and the 2 of 'A' before it are from 0.79 to 0.84; it was not taken. If the \
notebook says so too, say that you are sure."
    """
    low, high = min(earlier), max(earlier)
    others = f"{low:g}" if low == high else f"from {low:g} to {high:g}"
    return (
        f"{what} is {number:g}, and the {len(earlier)} {which}before it {'is' if len(earlier) == 1 else 'are'} "
        f"{others}; it was not taken. If the notebook says so too, say that you are sure."
    )


def noise_of(limits: Limits | None, sigma: float | None) -> float:
    """How much a single reward scatters, as far as the study says so.

    >>> noise_of(None, 0.3), noise_of((0.0, 1.0), None)
    (0.3, 0.0625)
    """
    return (sigma or 0.0) if limits is None else (limits[1] - limits[0]) / RANGE_IN_NOISE
