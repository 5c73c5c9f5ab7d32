"""Whether a number looks like a slip of the pen: one rule, for rewards and for counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bestarm.client.journal import Journal
from bestarm.errors import UserError
from bestarm.protocol.terms import Terms
from bestarm.reward import YES_NO

LOOKED_AT = 200  # earlier numbers that a new one is compared with
FEW = 8  # from so many on their spread is known well enough to say what is far from them
MOST_TIMES = 6.0  # further from the median than so many times what nine of ten earlier ones are
SLIP = 7.0  # with few earlier ones: so many times as large; a decimal point in the wrong place is ten times
PERCENT = 50.0  # the same with few of other arms: 84 for 0.84 is a hundred times
FURTHER = 10.0  # and so many times as far; its square with two
LARGEST_TIMES = 3.0  # and than so many times what the furthest of them is
RANGE_IN_NOISE = 16.0  # where the range of rewards is known, this part of it is never far
NORMAL_NINE_OF_TEN = 1.645  # of a normal's deviations are below so many sigma


class Doubtful(UserError):
    """A number that was not taken since it may be a slip; `sure=True` (or `--yes`) takes it.

    >>> raise Doubtful("reward 84 for arm 'A' is far from the others.")
    Traceback (most recent call last):
    bestarm.client.doubt.Doubtful: reward 84 for arm 'A' is far from the others.
    """


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


class Doubts:
    """Compares what is told with what this site has told before; the last numbers are kept at hand."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: dict[str | None, list[float]] = {}  # of an arm, or of all, newest last

    def check_rewards(self, arm: str, rewards: Sequence[float], terms: Terms, leave_out: int = 0) -> None:
        """Refuse measurements that are far from all rewards of the arm, or else of all arms, at this site.

        As long as there are few of the arm, they must be far from those of all arms too.
        `leave_out` is a trial that is corrected. Yes and no are never in doubt.
        """
        if terms.rewards == YES_NO:
            return
        own = self._earlier(arm, leave_out)
        earlier = own if len(own) > 1 else self._earlier(None, leave_out)
        every = self._earlier(None, leave_out)
        times = SLIP if earlier is own or len(every) >= FEW else PERCENT  # arms may be far from each other
        largest = max(map(abs, every), default=0.0) if len(own) < FEW else 0.0
        for reward in rewards:
            far = is_far(reward, earlier, _noise(terms), few=earlier is not own)
            if far and abs(reward) >= times * largest:
                which = f"of {arm!r} " if earlier is own else "of this site "
                raise Doubtful(question(f"the reward for {arm!r}", reward, earlier, which))

    def saw(self, arm: str, reward: float) -> None:
        """One more was told."""
        for numbers in (self._earlier(arm), self._earlier(None)):
            numbers.append(reward)
            del numbers[:-LOOKED_AT]

    def forget(self) -> None:
        """Something was corrected: look into the journal again."""
        self._seen = {}

    def _earlier(self, arm: str | None, leave_out: int = 0) -> list[float]:
        if leave_out:
            return self._read(arm, leave_out)
        if arm not in self._seen:
            self._seen[arm] = self._read(arm)
        return self._seen[arm]

    def _read(self, arm: str | None, leave_out: int = 0) -> list[float]:
        past = self._journal.past.rewards(arm, LOOKED_AT, leave_out)
        new = [one.reward for one in self._journal.told() if arm in (None, one.arm) and one.trial != leave_out]
        return (past[::-1] + new)[-LOOKED_AT:]

    def check_counts(self, counts: Mapping[str, Sequence[Any]], terms: Terms, leave_out: str = "") -> None:
        """Refuse counts whose mean is far from those that were told of the arm, or else of all arms."""
        before = [one.counts for one in self._journal.all_counted() if not leave_out or one.name != leave_out]
        for arm, row in counts.items():
            mean, noise = _mean_of(row, terms)
            own = [_mean_of(one[arm], terms)[0] for one in before if arm in one][-LOOKED_AT:]
            beside = [counts[other] for other in counts if other != arm]
            rows = [*(one for counted in before for one in counted.values()), *beside]
            every = [_mean_of(one, terms)[0] for one in rows]
            earlier = own or every[-LOOKED_AT:]
            if is_far(mean, earlier, noise, few=not own):
                which = f"of {arm!r} " if own else "of this site "
                raise Doubtful(question(f"the mean of {arm!r}", mean, earlier, which))


def _noise(terms: Terms) -> float:
    """How much a single reward scatters, as far as the study's terms say so."""
    limits = terms.reward_range
    return (terms.sigma or 0.0) if limits is None else (limits[1] - limits[0]) / RANGE_IN_NOISE


def _mean_of(row: Sequence[Any], terms: Terms) -> tuple[float, float]:
    """The mean of checked counts and its standard error, as far as it can be known."""
    pulls, total, *more = row
    mean = total / pulls
    if terms.reward_range is not None or terms.rewards == YES_NO:
        low, high = terms.reward_range or (0.0, 1.0)
        share = (total - pulls * low + (high - low)) / (pulls + 2) / (high - low)
        spread = (high - low) * max(share * (1 - share), 0.0) ** 0.5
    elif len(more) == 1:
        spread = max(more[0] / pulls - mean * mean, 0.0) ** 0.5
    else:
        spread = terms.sigma or 0.0
    return mean, float(spread / pulls**0.5)
