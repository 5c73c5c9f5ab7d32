"""Times as the service writes them: ISO 8601, UTC, to the millisecond."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def write(moment: datetime) -> str:
    """A time as text.

    >>> write(datetime(2026, 1, 2, 3, 4, 5, 678000, UTC))
    '2026-01-02T03:04:05.678Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read(text: str) -> datetime:
    """The inverse of `write`.

    >>> read("2026-01-02T03:04:05.678Z") == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    True
    """
    return datetime.fromisoformat(text)
