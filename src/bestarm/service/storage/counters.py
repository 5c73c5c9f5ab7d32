"""What the server counts about itself, for /metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Counters:
    """Plain counts; each is changed by one thread only."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # (route, status)
        self.commits = 0
        self.tasks = 0
        self.commit_seconds = 0.0

    @contextmanager
    def commit(self, tasks: int) -> Iterator[None]:
        """Count a transaction that succeeds, what it held and how long it took."""
        start = time.perf_counter()
        yield
        self.commits += 1
        self.tasks += tasks
        self.commit_seconds += time.perf_counter() - start
