"""Headers of every answer, whoever gives it."""

from __future__ import annotations

from starlette.types import Message

NOSNIFF = b"x-content-type-options", b"nosniff"
CACHE = b"cache-control", b"no-store"
EVERYWHERE = [NOSNIFF, CACHE]


def complete(start: Message) -> None:
    """Give an answer the headers that it does not have yet."""
    headers = start["headers"] = list(start.get("headers", ()))
    there = {name.lower() for name, _ in headers}
    headers += [header for header in EVERYWHERE if header[0] not in there]
