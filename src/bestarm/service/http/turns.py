"""One after the other: whoever asks for much at once waits for nobody but himself, and nobody else for him."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Callers by a key, such as their token; of each, one has its turn."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}
        self._callers: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """Wait for the turn, and keep it for as long as the block lasts."""
        turn = self._turns.setdefault(key, asyncio.Lock())
        self._callers[key] += 1
        try:
            async with turn:
                yield
        finally:
            self._callers[key] -= 1
            if not self._callers[key]:
                del self._callers[key], self._turns[key]
