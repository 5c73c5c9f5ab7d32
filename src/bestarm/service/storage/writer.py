"""One thread that does all writing: whatever waits when it is free becomes one transaction."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bestarm.errors import Refused
from bestarm.service.storage.pending import Pending

MOST_WAITING = 10_000
MOST_TOGETHER = 256
LINGER = 0.002  # seconds at most


@dataclass(slots=True, eq=False)
class Task:
    """Something to do inside a transaction; what comes of it is known after the commit, never before."""

    act: Callable[..., Any]
    study: int | None
    writes: bool
    pending: Pending[Any] = field(default_factory=Pending)
    charter: Any = None  # of the study
    tried: bool = False  # and the storage failed
    alone: bool = False  # whether it must have a transaction of its own
    prepared: Any = None  # what was read for it outside of a transaction


class Writer:
    """Gathers the tasks that arrive while a commit is under way and hands them on together.

    A commit costs one wait for the disk however much is in it, so the more wait, the cheaper each becomes.
    `run` gets a list of tasks and must settle each.

    After a commit the writer lingers for those that it has just answered, since who is busy mostly comes again
    at once: for as many as were answered or wait already, and at most half as long as the commit took.
    """

    def __init__(self, run: Callable[[list[Task]], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._run, self._clock = run, clock
        self._waiting: deque[Task] = deque()
        self._enough = 1  # so many must wait for the writer to be woken
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="bestarm-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many tasks wait for the next transaction."""
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Whether it takes no more."""
        return self._closed

    def submit(self, task: Task, first: bool = False) -> Pending[Any]:
        """Queue a task, behind the others or before them."""
        if self._closed:
            raise _stopping()
        if len(self._waiting) >= MOST_WAITING:
            raise Refused("the server has too much to do; send it again later.", "busy", 503)
        if first:
            self._waiting.appendleft(task)
        else:
            self._waiting.append(task)
        if len(self._waiting) >= self._enough:
            self._wake.set()
        return task.pending

    def again(self, tasks: list[Task]) -> None:
        """Queue tasks that were queued before and could not be done yet."""
        if self._closed:
            for task in tasks:
                task.pending.settle(error=_stopping())
            return
        self._waiting.extend(tasks)
        self._wake.set()

    def close(self) -> None:
        """Do what was queued, then end."""
        self._closed = True
        self._wake.set()
        self._thread.join()
        for task in self._waiting:  # it came at the last moment
            task.pending.settle(error=_stopping())

    def _work(self) -> None:
        while self._waiting or not self._closed:
            self._wait_for(1, None)
            tasks = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            if tasks:
                began = self._clock()
                self._guarded(tasks)
                took = self._clock() - began
                self._wait_for(len(tasks) + len(self._waiting), min(took / 2, LINGER))

    def _wait_for(self, tasks: int, seconds: float | None) -> None:
        """Until so many tasks wait, or for so long, or until there is no more to come."""
        self._wake.clear()
        self._enough = tasks  # from here on `submit` wakes us; what came before is counted below
        if len(self._waiting) < tasks and not self._closed:
            self._wake.wait(seconds)

    def _guarded(self, tasks: list[Task]) -> None:
        try:
            self._run(tasks)
        except BaseException as error:  # a mistake of ours must not leave anybody waiting for ever
            for task in tasks:
                if not task.pending.settled:
                    task.pending.settle(error=error)


def _stopping() -> Refused:
    return Refused("the server is stopping; send it again later.", "stopping", 503)
