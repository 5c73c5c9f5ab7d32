"""What the writer's thread will answer, for a thread to wait for or an event loop to await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Pending(Generic[T]):
    """An outcome that one thread settles and one other waits for, with `result` or with `await`.

    `concurrent.futures.Future` serves any number of waiting threads, and wakes an event loop for each outcome;
    this wakes it once for all outcomes of a commit.
    """

    __slots__ = ("_error", "_tell", "_value", "settled")

    def __init__(self) -> None:
        self.settled = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._tell: Callable[[], object] | None = None

    def settle(self, value: T | None = None, error: BaseException | None = None) -> None:
        """Say what came out; called once."""
        self._value, self._error = value, error
        # Whoever waits sets `_tell` and then looks at `settled`, so one of the two always sees the other.
        self.settled = True
        if self._tell is not None:
            self._tell()

    def result(self) -> T:
        """The value, or the error raised; waits for it."""
        arrived = threading.Event()
        self._tell = arrived.set
        if not self.settled:
            arrived.wait()
        return self._get()

    def __await__(self) -> Generator[Any, None, T]:
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()
        mail = Mail.of(loop)
        self._tell = lambda: mail.put(loop, arrived)
        if not self.settled:
            yield from arrived
        return self._get()

    def _get(self) -> T:
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value


class Mail:
    """Futures of one event loop that are to be woken; the loop itself is woken for the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrived: list[asyncio.Future[None]] = []

    @staticmethod
    def of(loop: asyncio.AbstractEventLoop) -> Mail:
        """The one of this loop."""
        mail = _mails.get(loop)
        if mail is None:
            mail = _mails[loop] = Mail()
        return mail

    def put(self, loop: asyncio.AbstractEventLoop, arrived: asyncio.Future[None]) -> None:
        """Wake a future of the loop, from another thread."""
        with self._lock:
            self._arrived.append(arrived)
            first = len(self._arrived) == 1
        if first:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits on it any more
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        for future in arrived:
            if not future.done():
                future.set_result(None)


_mails: WeakKeyDictionary[asyncio.AbstractEventLoop, Mail] = WeakKeyDictionary()
