"""Streams of a study's log: server-sent events whose ids are positions, so that a broken one can go on."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from bestarm.methods import Verdict
from bestarm.protocol.messages import verdict_to_json
from bestarm.service.storage.study.ledger import MOST_FRESH, Ledger
from bestarm.service.storage.study.overview import Charter, Judged, Overview
from bestarm.service.view.status import event

Page = Callable[[int], Awaitable[list[Judged]]]
TOGETHER = 100  # events in one write
PACE = 0.001  # seconds for each stream between two times that streams are woken: it costs a tenth of that


class Watch:
    """The committed log of a study that somebody follows. Streams hold a place in it, not a copy of it.

    The last uploads are at hand; earlier ones are read from the storage.
    """

    def __init__(self, study: Charter) -> None:
        self.study = study
        self.recent: deque[Judged] = deque(maxlen=MOST_FRESH)
        self.uploads = 0
        self.length = 0  # of the log, with entries that are no uploads
        self.streams = 0
        self._changed = asyncio.Event()
        self._woken_at = 0.0
        self._soon: asyncio.TimerHandle | None = None  # when they will be woken

    def update(self, fresh: Sequence[Judged], uploads: int, length: int) -> None:
        """The log has grown; uploads wake whoever waits."""
        self.length = max(length, self.length)
        for one in fresh:
            if self.recent and one.position > self.recent[-1].position + 1:
                self.recent.clear()  # somebody else has written those between
            if not self.recent or one.position == self.recent[-1].position + 1:
                self.recent.append(one)
        if uploads > self.uploads:
            self.uploads = uploads
            self._wake_soon()

    def after(self, place: int) -> list[Judged]:
        """The next uploads after a place, if they are at hand."""
        if not self.recent or self.recent[0].position > place + 1:
            return []
        start = place + 1 - self.recent[0].position
        return [one for one in islice(self.recent, start, start + TOGETHER) if one.position <= self.uploads]

    def wake(self) -> None:
        """Let all who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _wake_soon(self) -> None:
        """Wake them at once, or if that was a moment ago, a moment later: many streams of a busy study would
        leave no time for its uploads.
        """
        if self._soon is None:
            loop = asyncio.get_running_loop()
            self._soon = loop.call_at(max(loop.time(), self._woken_at + PACE * self.streams), self._wake_now)

    def _wake_now(self) -> None:
        self._soon, self._woken_at = None, asyncio.get_running_loop().time()
        self.wake()

    async def wait(self, seconds: float) -> bool:
        """Until something changes; False if nothing does for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class Hub:
    """Takes what the writer commits to the streams that wait for it."""

    def __init__(self) -> None:
        self.watches: dict[int, Watch] = {}
        self.closing = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """From now on streams run on this event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams."""
        self.closing = True
        for watch in self.watches.values():
            watch.wake()

    def grown(self, ledger: Ledger) -> None:
        """Called by the writer's thread after a commit, before it goes on with the ledger."""
        study_id = ledger.study.id
        if study_id in self.watches and self._loop is not None and not self._loop.is_closed():
            news = tuple(ledger.fresh), ledger.server.uploads, ledger.length
            self._loop.call_soon_threadsafe(self._update, study_id, *news)

    def _update(self, study_id: int, fresh: Sequence[Judged], uploads: int, length: int) -> None:
        if study_id in self.watches:
            self.watches[study_id].update(fresh, uploads, length)

    @contextmanager
    def watch(self, study: Charter) -> Iterator[Watch]:
        """Follow a study for as long as somebody does."""
        watch = self.watches.setdefault(study.id, Watch(study))
        watch.streams += 1
        try:
            yield watch
        finally:
            watch.streams -= 1
            if watch.streams == 0:
                self.watches.pop(study.id, None)


async def follow(
    hub: Hub, watch: Watch, after: int, keep_alive: float, start: Overview, page: Page
) -> AsyncIterator[str | None]:
    """The events after a position, as text; None each time that nothing happened for `keep_alive` seconds.

    The `stop` event comes right after the upload that settled the study. A stream that starts later says it
    first, so that whoever was cut off between the two does not miss it. `page` reads a few uploads after a
    place that are not at hand.
    """
    watch.update((), start.uploads, start.length)
    place = min(after, start.uploads)
    stopped = start.stopped_at is not None and start.stopped_at <= place
    if stopped:
        yield _stop(start.stopped_at or 0, start.verdict)
    while not hub.closing:
        uploads = watch.uploads
        while place < uploads and not hub.closing:
            told = ""
            for one in watch.after(place) or await page(place):
                told += _told(one)
                if one.verdict.stopped and not stopped:
                    stopped = True
                    told += _stop(one.position, one.verdict)
                place = one.position
            if not told:
                break
            yield told
        if place >= watch.uploads and not hub.closing and not await watch.wait(keep_alive):
            yield None


def _told(entry: Judged) -> str:
    return f"id: {entry.position}\nevent: upload\ndata: {json.dumps(event(entry), allow_nan=False)}\n\n"


def _stop(position: int, said: Verdict) -> str:
    verdict = json.dumps(verdict_to_json(said), allow_nan=False)
    return f"id: {position}\nevent: stop\ndata: {verdict}\n\n"
