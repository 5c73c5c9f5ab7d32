"""Ctrl-C and compiled code, which Python can't interrupt."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Answer = TypeVar("Answer")
INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold KeyboardInterrupt back until the block is done, and raise it then.

    numba does not expect an exception while it takes the arguments of a call apart: the process crashes, or
    goes on as if nothing had happened. Only the main thread is ever interrupted.
    """
    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in workers
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def interruptible(work: Callable[[], Answer], cancel: Callable[[], None]) -> Answer:
    """Do the work in a thread of its own, so that Ctrl-C is heard at once and `cancel` can end it.

    >>> interruptible(lambda: 6 * 7, lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: Future[Answer] = Future()

    def attempt() -> None:
        try:
            done.set_result(work())
        except BaseException as failure:
            done.set_exception(failure)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    try:
        return done.result()
    except KeyboardInterrupt:
        cancel()
        thread.join(timeout=0.5)
        if thread.is_alive():  # it compiles, and will end after that
            atexit.register(_leave, thread)
        raise


def _leave(thread: threading.Thread) -> None:
    """At the end of the process: Python would take the modules apart under a thread that still runs."""
    if thread.is_alive():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
