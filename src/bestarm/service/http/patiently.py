"""A long answer, piece by piece, and one that takes long to make: they disturb nobody, and fill no memory.

Pieces are made when they are read, in one thread for all such answers, which rests after each for as long as it
took. Who does not read is given up by the door, as with any answer. Pages are made one after the other, reports
in a thread of their own: beside many at once, every upload would have to wait for Python's one lock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.responses import Response, StreamingResponse

from bestarm.service.http.bodies import COMPACT, answer_text

MOST_REST = 0.05  # seconds

T = TypeVar("T")

_maker = ThreadPoolExecutor(1, "bestarm-export")
_printer = ThreadPoolExecutor(1, "bestarm-report")
_shower = ThreadPoolExecutor(1, "bestarm-page")


def patiently(pieces: Iterator[str], media_type: str) -> StreamingResponse:
    """A streamed answer that is made as fast as it is read, and not faster than others can bear."""
    return StreamingResponse(_made(pieces), media_type=media_type)


async def printed(page: Callable[[], T]) -> T:
    """A page that takes long to make, one after the other, and beside the long answers."""
    return await asyncio.get_running_loop().run_in_executor(_printer, page)


async def shown(page: Callable[[], object]) -> Response:
    """An answer in JSON that may take a second to make."""
    text = await asyncio.get_running_loop().run_in_executor(_shower, lambda: COMPACT.encode(page()))
    return answer_text(text)


async def _made(pieces: Iterator[str]) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    while (piece := await loop.run_in_executor(_maker, _next, pieces)) is not None:
        yield piece


def _next(pieces: Iterator[str]) -> str | None:
    began = time.perf_counter()
    piece = next(pieces, None)
    time.sleep(min(time.perf_counter() - began, MOST_REST))
    return piece
