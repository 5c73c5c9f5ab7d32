"""What was refused: counted by kind, and written down once a minute for each kind."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from bestarm.names import shown

log = logging.getLogger("bestarm.service")
MINUTE = 60.0
LONGEST = 300  # letters of a line


class Notes:
    """Counts refusals in `refused`; the first of a kind within a minute is a line of the log.

    >>> notes, now = Notes(clock=lambda: now), 0.0
    >>> for now in (0.0, 1.0, 61.0):
    ...     notes.refused("bad-token", "10.0.0.7", "GET /v1/studies")
    >>> notes.counts["bad-token"]
    3
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self._quiet = quiet  # whoever is refused is told so, and there may be nobody else
        self._clock = clock
        self._written: dict[str, tuple[float, int]] = {}  # when a kind was last written down, and its count

    def refused(self, kind: str, address: str, what: str) -> None:
        """Count a refusal, and write it down if none of its kind was in the last minute."""
        self.counts[kind] += 1
        now, count = self._clock(), self.counts[kind]
        at, before = self._written.get(kind, (-MINUTE, 0))
        if now - at >= MINUTE and not self._quiet:
            self._written[kind] = now, count
            times = f" {count - before} times since the last such line" if count - before > 1 else ""
            log.warning("refused%s (%s), from %s: %s", times, kind, address, shown(what)[:LONGEST])
