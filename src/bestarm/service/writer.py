"""One thread that does all writing: whatever waits when it is free becomes one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from bestarm.errors import Refused

MOST_WAITING = 10_000
MOST_TOGETHER = 256


@dataclass(slots=True, eq=False)
class Task:
    """Something to do inside a transaction; its future is set after the commit, never before."""

    act: Callable[..., Any]
    study: int | None
    writes: bool
    future: Future[Any] = field(default_factory=Future)


class Writer:
    """Gathers the tasks that arrive while a commit is under way and hands them on together.

    A commit costs one wait for the disk however much is in it, so the more wait, the cheaper each becomes.
    `run` gets a list of tasks and must set the future of each.
    """

    def __init__(self, run: Callable[[list[Task]], None]) -> None:
        self._run = run
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="bestarm-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many tasks wait for the next transaction."""
        return self._queue.qsize()

    def submit(self, task: Task) -> Future[Any]:
        """Queue a task."""
        if self._closed.is_set():
            raise Refused("the server is stopping; send it again later.", "stopping", 503)
        if self._queue.qsize() >= MOST_WAITING:
            raise Refused("the server has too much to do; send it again later.", "busy", 503)
        self._queue.put(task)
        return task.future

    def close(self) -> None:
        """Do what was queued, then end."""
        self._closed.set()
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            tasks = [self._queue.get()]
            while len(tasks) < MOST_TOGETHER and tasks[-1] is not None:
                try:
                    tasks.append(self._queue.get_nowait())
                except Empty:
                    break
            ready = [t for t in tasks if t is not None and t.future.set_running_or_notify_cancel()]
            if ready:
                self._guarded(ready)
            if tasks[-1] is None:
                return

    def _guarded(self, tasks: list[Task]) -> None:
        try:
            self._run(tasks)
        except BaseException as error:  # a mistake of ours must not leave anybody waiting for ever
            for task in tasks:
                if not task.future.done():
                    task.future.set_exception(error)
