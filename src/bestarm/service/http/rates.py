"""How often a token may call: a bucket that fills steadily and that every call takes one drop from."""

from __future__ import annotations


class Buckets:
    """One bucket for each key. `rate` calls a second in the long run, `burst` at once; a rate of 0 is no limit.

    >>> buckets = Buckets(rate=2.0, burst=1.0)
    >>> buckets.wait("lab-a", now=0.0), buckets.wait("lab-a", now=0.0), buckets.wait("lab-a", now=0.5)
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._levels: dict[str, tuple[float, float]] = {}  # drops in the bucket, and when that was counted

    def wait(self, key: str, now: float) -> float:
        """0 if the call may go ahead; otherwise the seconds until one may."""
        if self.rate == 0:
            return 0.0
        level, then = self._levels.get(key, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        allowed = level >= 1.0
        self._levels[key] = (level - 1.0 if allowed else level, now)
        return 0.0 if allowed else (1.0 - level) / self.rate
