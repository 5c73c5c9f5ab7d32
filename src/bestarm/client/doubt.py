"""What is told is compared with what this site told before; what may be a slip of the pen is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, prod, sqrt
from typing import Any

from bestarm.client.memory.journal import Journal
from bestarm.doubt import FEW, LOOKED_AT, PERCENT, SLIP, is_far, noise_of, question
from bestarm.errors import UserError
from bestarm.protocol.terms import Terms
from bestarm.reward import YES_NO

BY_CHANCE = 0.001  # counts that chance makes alike more often than this may well be two batches


class Doubtful(UserError):
    """A number that was not taken since it may be a slip; `sure=True` (or `--yes`) takes it.

    >>> raise Doubtful("reward 84 for arm 'A' is far from the others.")
    Traceback (most recent call last):
    bestarm.client.doubt.Doubtful: reward 84 for arm 'A' is far from the others.
    """


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
            far = is_far(reward, earlier, noise_of(terms.reward_range, terms.sigma), few=earlier is not own)
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

    def check_counts(self, counts: Mapping[str, Sequence[Any]], terms: Terms, name: str = "") -> None:
        """Refuse counts whose mean is far from those that were told of the arm, or else of all arms.

        And those with a `name` that were told before under another one. Who gives no names says that every
        call is another batch.
        """
        told = [one for one in self._journal.all_counted() if not name or one.name != name]
        same = next((one for one in reversed(told) if name and one.name and one.counts == counts), None)
        if same is not None and len(told) * _alike_by_chance(counts, terms) < BY_CHANCE:
            raise Doubtful(
                f"the very same counts were told before as {same.name.split('/')[0]!r}, on {same.at[:10]}; "
                "they were not taken again. If this is another batch, say that you are sure."
            )
        before = [one.counts for one in told]
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


def _alike_by_chance(counts: Mapping[str, Sequence[Any]], terms: Terms) -> float:
    """About how likely the same pulls have the same sums again; sums that are not whole never have.

    The difference of two whole sums that scatter by s is 0 with probability 1 / (2 √π s).
    """
    if any(row[1] != int(row[1]) for row in counts.values()):
        return 0.0
    scatter = [row[0] * _mean_of(row, terms)[1] for row in counts.values()]
    return prod(min(1.0, 1.0 / (2.0 * sqrt(pi) * s)) if s > 0.0 else 1.0 for s in scatter)
