"""One place in a notebook that changes, instead of lines that scroll; in a terminal one line that changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, TextIO

from bestarm.errors import ServiceError
from bestarm.notebook import meter
from bestarm.shown import headline

Progress = Callable[[int], None]
PATIENCE = 2.0  # seconds until a bar is shown
PACE = 0.2  # seconds between two drawings of it


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel; IPython is asked only if somebody else has loaded it."""
    known = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Place:
    """Shows one thing at a time: a page where there is a notebook, else a line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._handle: Any = None
        self._last = ""

    def show(self, page: str, line: str) -> None:
        """Put this in the place of what was there."""
        if in_notebook():
            self._show(page, line)
        elif self._stream.isatty():
            print(f"\r{line}{' ' * (len(self._last) - len(line))}", end="", file=self._stream, flush=True)
        elif line and line != self._last:
            print(line, file=self._stream, flush=True)
        self._last = line

    def end(self) -> None:
        """Nothing more comes; in a terminal the next line is free again."""
        if self._last and not in_notebook() and self._stream.isatty():
            print(file=self._stream, flush=True)

    def _show(self, page: str, line: str) -> None:
        from IPython.display import display

        both = {"text/html": page, "text/plain": line}
        if self._handle is None:
            self._handle = display(both, raw=True, display_id=True)
        else:
            self._handle.update(both, raw=True)


@contextmanager
def progress_shown(
    progress: Progress | None, total: int, label: str, seconds: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """The caller's own progress; or, in a notebook, a bar, which shows after two seconds and then goes."""
    if progress is not None or not in_notebook():
        yield progress or (lambda finished: None)
        return
    place, began, finished, drawn = Place(), seconds(), 0, 0.0

    def told(more: int) -> None:
        nonlocal finished, drawn
        finished += more
        now = seconds()
        if now - began < PATIENCE or now - drawn < PACE:
            return
        drawn = now
        left = (now - began) * (total - finished) / max(finished, 1)
        words = f"{finished:,} of {total:,} runs, {left:,.0f} s left"
        page = f"<p>{escape(label)}</p>{meter(finished / max(total, 1), words)}"
        place.show(page, f"{label}: {words}")

    try:
        yield told
    finally:
        if drawn:
            place.show("", "")


def watch(
    look: Callable[[], Any],
    every: float = 1.0,
    place: Place | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Draw a study anew whenever something has happened, until it is over or Ctrl-C (or Stop) is pressed.

    `look` gives its status. If the server is away, what was drawn last stays, and it is tried again.
    """
    place = Place() if place is None else place
    drawn: object = None
    try:
        while True:
            try:
                found = look()
            except ServiceError as error:
                place.show(f"<p>{escape(str(error))}</p>", str(error))
                drawn = None
            else:
                now = [found[key] for key in ("uploads", "state", "events", "sites", "archived")]
                if now != drawn:
                    place.show(found._repr_html_(), headline(found))
                    drawn = now
                if found["state"] != "open":
                    return
            sleep(every)
    except KeyboardInterrupt:
        return  # whoever watches has seen enough
    finally:
        place.end()
