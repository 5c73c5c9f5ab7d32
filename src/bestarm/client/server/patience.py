"""How long to try, and how long to wait between two tries."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from bestarm.client.memory.journal import JournalError
from bestarm.errors import ServiceError

LONGEST_PAUSE = 60.0
# The event of whoever calls from a thread, if there is one: once it is set, nobody waits for the call any more.
given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)
T = TypeVar("T")
log = logging.getLogger("bestarm.client")


def pauses(chance: Callable[[], float]) -> Iterator[float]:
    """Seconds between tries: about ½, 1, 2, 4 … 60, each half fixed and half chance, so that sites spread out.

    >>> from itertools import islice
    >>> list(islice(pauses(lambda: 1.0), 9))
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    """
    pause = 0.5
    while True:
        yield pause * (0.5 + 0.5 * chance())
        pause = min(2 * pause, LONGEST_PAUSE)


def nobody_waits() -> bool:
    """Whether whoever called this has gone away, as a task does that was cancelled."""
    event = given_up.get()
    return event is not None and event.is_set()


def _rest(pause: float) -> None:
    """Sleep, unless nobody waits any more."""
    event = given_up.get()
    if event is None:
        time.sleep(pause)
    else:
        event.wait(pause)


@dataclass(slots=True)
class Patience:
    """Tries again what failed for a reason that may pass, and says what it is waiting for.

    `sleep`, `clock` and `chance` (numbers from 0 to 1) are arguments so that a test can do without time.
    `waiting` is called with what is waited for and the seconds until the next try.
    """

    waiting: Callable[[str, float], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def persist(
        self, attempt: Callable[[], T], wait: float | None, rest: Callable[[float], None] | None = None
    ) -> T:
        """The first success within `wait` seconds, or the last `ServiceError`.

        It tries at least once, and with None for as long as it takes. `rest` takes the place of `sleep`, unless
        that was given: it may end early if there is something new. It ends when nobody waits any more.
        """
        end = None if wait is None else self.clock() + wait
        for pause in pauses(self.chance):
            try:
                return attempt()
            except JournalError:
                raise
            except ServiceError as error:
                left = pause if end is None else end - self.clock()
                if left <= 0:
                    raise
                pause = min(pause, left)
                log.info("%s Next try in %.1f s.", error, pause)
                if self.waiting is not None:
                    self.waiting(str(error), pause)
                (rest or _rest if self.sleep is time.sleep else self.sleep)(pause)
                if nobody_waits():
                    raise
        raise AssertionError("pauses never end")
