"""Lines of a log that come once a minute, however often there is a reason for them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

MINUTE = 60.0


class Seldom:
    """Counts what happens by its kind, and says when it is time for a line.

    >>> now = 0.0
    >>> seldom = Seldom(clock=lambda: now)
    >>> found = []
    >>> for now in (0.0, 1.0, 61.0):
    ...     found.append(seldom.times("bad-token"))
    >>> found
    [1, 0, 2]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._written: dict[str, tuple[float, int]] = {}  # when a kind had a line, and its count

    def times(self, kind: str) -> int:
        """Once more: how often since the last line of its kind; 0 if that was less than a minute ago."""
        self.counts[kind] += 1
        now, count = self._clock(), self.counts[kind]
        at, before = self._written.get(kind, (-MINUTE, 0))
        if now - at < MINUTE:
            return 0
        self._written[kind] = now, count
        return count - before


def since(times: int) -> str:
    """How often, in a line; nothing if it is the first.

    >>> since(1), since(7)
    ('', ' 7 times since the last such line')
    """
    return f" {times:,} times since the last such line" if times > 1 else ""
