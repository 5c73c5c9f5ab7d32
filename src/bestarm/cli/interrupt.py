"""Ctrl-C while compiled code runs."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended


def in_a_thread(work: Callable[[], Answer]) -> Answer:
    """Do the work in a thread of its own while this one waits and listens for Ctrl-C.

    Python raises KeyboardInterrupt in the main thread. In the middle of a call of compiled code that is not
    safe: numba does not expect it while it takes the arguments apart, and the process crashes or goes on as if
    nothing had happened. An interrupted thread is not waited for; it ends with the process.

    >>> in_a_thread(lambda: 6 * 7)
    42
    """
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            answers.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        # Python would take the modules apart under a thread that still runs; this comes first.
        atexit.register(_leave)
        raise
    if failures:
        raise failures[0]
    return answers[0]


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
