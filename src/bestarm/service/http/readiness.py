"""Whether the server can do its work now: asked by anybody, so the storage is asked once for all who ask."""

from __future__ import annotations

import asyncio
import time

from bestarm.errors import Refused
from bestarm.service.http.asking import ask
from bestarm.service.storage import Storage
from bestarm.service.storage.failing import AWAY

BELIEVED = 1.0  # seconds
LOADING = "studies are being read from their logs; ask again in a moment."
PATIENCE = 2.0  # seconds that the storage may take to answer


class Readiness:
    """Asks the storage, at most once a second, and one question at a time."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._asked_at = -BELIEVED
        self._question: asyncio.Task[None] | None = None

    async def missing(self) -> str | None:
        """What is missing, in a sentence; None if the server is ready."""
        if self._question is None or (self._question.done() and time.monotonic() - self._asked_at >= BELIEVED):
            self._asked_at = time.monotonic()
            self._question = asyncio.create_task(ask(self._storage.ping))
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._question)
        except (Refused, TimeoutError):
            return AWAY
        return LOADING if self._storage.loading else None
