"""Short questions to the storage, in threads of their own: what takes long elsewhere does not delay them.

Whose token it is and which study is meant is asked for every upload, so it must not wait behind pages that
somebody else has asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
THREADS = 4

_threads = ThreadPoolExecutor(THREADS, "bestarm-ask")


async def ask(question: Callable[..., T], *about: object) -> T:
    """The answer to a question that takes a few milliseconds."""
    return await asyncio.get_running_loop().run_in_executor(_threads, question, *about)
