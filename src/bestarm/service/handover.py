"""From the writer's thread to the event loop: all outcomes of a commit with one wake-up."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Handover:
    """Outcomes on their way to one event loop. `asyncio.wrap_future` would wake the loop for each of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrived: list[tuple[asyncio.Future[Any], Future[Any]]] = []

    def put(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[Any], done: Future[Any]) -> None:
        """Called by whichever thread has the outcome."""
        with self._lock:
            self._arrived.append((waiting, done))
            first = len(self._arrived) == 1
        if first and not loop.is_closed():
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        for waiting, done in arrived:
            if waiting.cancelled():
                continue
            error = done.exception()
            if error is None:
                waiting.set_result(done.result())
            else:
                waiting.set_exception(error)


_handovers: WeakKeyDictionary[asyncio.AbstractEventLoop, Handover] = WeakKeyDictionary()


async def outcome(future: Future[T]) -> T:
    """What a future of the storage comes to; to be awaited on an event loop."""
    loop = asyncio.get_running_loop()
    handover = _handovers.get(loop)
    if handover is None:
        handover = _handovers[loop] = Handover()
    waiting: asyncio.Future[T] = loop.create_future()
    future.add_done_callback(lambda done: handover.put(loop, waiting, done))
    return await waiting
