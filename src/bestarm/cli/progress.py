"""What a waiting person sees: a bar with the time left, and why the first run takes so long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bestarm.cli.output import errors, say

PATIENCE = 2.0  # seconds without a word


class Progress:
    """A bar on stderr with the time left. It shows only after two seconds, and only in a terminal."""

    def __init__(self, total: int, label: str = "") -> None:
        self.total, self.label, self.finished = total, label, 0
        self._started = time.perf_counter()
        self._bar: Bar | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Progress:
        return self

    def __call__(self, finished: int) -> None:
        """So many more runs have finished."""
        self.finished += finished
        if self._bar is not None:
            self._bar.update(self._task, completed=self.finished, description=self.label)
        elif errors.is_terminal and time.perf_counter() - self._started > PATIENCE:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TextColumn("runs,"),
            )
            self._bar = Bar(*columns, TimeRemainingColumn(), TextColumn("left"), console=errors, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.label, total=self.total, completed=self.finished)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def saying_after_a_while(sentence: str) -> Iterator[None]:
    """Say the sentence if the work within takes more than two seconds."""
    timer = threading.Timer(PATIENCE, say, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def saying_when_compiling(engine: str | None) -> Iterator[None]:
    """Say so if the work within spends more than two seconds on compiling: it does that once.

    With rules from outside of the package it may do so again: not all that they reach can be kept on disk.
    """
    if engine == "rounds":
        yield
        return
    try:
        from numba.core import event

        from bestarm.methods.registry import outside  # needs numpy, which not every command does
    except ImportError:  # the engine says what to install
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(PATIENCE / 10):
            events = list(recorder.buffer)
            under_way = sum(1 if event.is_start else -1 for _, event in events) > 0
            if under_way and time.time() - events[0][0] > PATIENCE:
                say(
                    "compiling the simulation …"
                    if outside()
                    else "compiling the simulation, once; it is cached afterwards …"
                )
                return

    with event.install_recorder("numba:compile") as recorder:
        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()
