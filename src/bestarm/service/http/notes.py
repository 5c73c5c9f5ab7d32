"""What was refused: counted by kind, and written down once a minute for each kind."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from bestarm.names import shown
from bestarm.service.storage.seldom import Seldom, since

log = logging.getLogger("bestarm.service")
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
        self._quiet = quiet  # whoever is refused is told so, and there may be nobody else
        self._seldom = Seldom(clock)

    @property
    def counts(self) -> Counter[str]:
        """How often each kind was refused."""
        return self._seldom.counts

    def refused(self, kind: str, address: str, what: str) -> None:
        """Count a refusal, and write it down if none of its kind was in the last minute."""
        times = self._seldom.times(kind)
        if times and not self._quiet:
            said = since(times), kind, shown(address)[:LONGEST], shown(what)[:LONGEST]
            log.warning("refused%s (%s), from %s: %s", *said)
