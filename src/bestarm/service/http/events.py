"""Streams of a study's log: server-sent events whose ids are positions, so that a broken one can go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from bestarm.protocol.messages import verdict_to_json
from bestarm.service.storage.ledger import Ledger
from bestarm.service.storage.overview import Charter, Judged, Overview
from bestarm.service.view.status import event

TOGETHER = 100  # events in one write


class Watch:
    """The committed log of a study that somebody follows. Streams hold a place in it, not a copy of it."""

    def __init__(self, study: Charter) -> None:
        self.study = study
        self.judged: Sequence[Judged] = ()
        self.uploads = 0
        self.length = 0  # of the log, with entries that are no uploads
        self.streams = 0
        self._changed = asyncio.Event()

    def update(self, judged: Sequence[Judged], uploads: int, length: int) -> None:
        """The log has grown; uploads wake whoever waits."""
        self.length = max(length, self.length)
        if uploads > self.uploads:
            self.judged, self.uploads = judged, uploads
            self.wake()

    def wake(self) -> None:
        """Let all who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

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
            news = ledger.judged, len(ledger.judged), ledger.length
            self._loop.call_soon_threadsafe(self._update, study_id, *news)

    def _update(self, study_id: int, judged: Sequence[Judged], uploads: int, length: int) -> None:
        if study_id in self.watches:
            self.watches[study_id].update(judged, uploads, length)

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
    hub: Hub, watch: Watch, after: int, keep_alive: float, start: Overview
) -> AsyncIterator[str | None]:
    """The events after a position, as text; None each time that nothing happened for `keep_alive` seconds.

    The `stop` event comes right after the upload that settled the study. A stream that starts later says it
    first, so that whoever was cut off between the two does not miss it.
    """
    watch.update(start.judged, start.uploads, start.length)
    place = min(after, start.uploads)
    if start.stopped_at is not None and start.stopped_at <= place:
        yield _stop(start.judged[start.stopped_at - 1])
    while not hub.closing:
        judged, uploads = watch.judged, watch.uploads
        while place < uploads and not hub.closing:
            upto = min(place + TOGETHER, uploads)
            yield "".join(_told(judged, k) for k in range(place, upto))
            place = upto
        if place == watch.uploads and not hub.closing and not await watch.wait(keep_alive):
            yield None


def _told(judged: Sequence[Judged], k: int) -> str:
    entry = judged[k]
    text = f"id: {entry.position}\nevent: upload\ndata: {json.dumps(event(entry), allow_nan=False)}\n\n"
    settled = entry.verdict.stopped and (k == 0 or not judged[k - 1].verdict.stopped)
    return text + _stop(entry) if settled else text


def _stop(entry: Judged) -> str:
    verdict = json.dumps(verdict_to_json(entry.verdict), allow_nan=False)
    return f"id: {entry.position}\nevent: stop\ndata: {verdict}\n\n"
