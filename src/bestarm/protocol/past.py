"""What a server can read again of its log: all of it in memory, or pages of a database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from bestarm.core.plan import Plan
from bestarm.protocol.entries import Entry, Upload


@dataclass(slots=True)
class Logged:
    """An entry, its place, how many uploads the log has up to it, and the plan that answered it, if known."""

    entry: Entry
    place: int
    uploads: int
    plan: Plan | None = None


class Past(Protocol):
    """A log that can be read again. A server asks for it seldom: what it needs always is in its state."""

    def add(self, logged: Logged) -> None:
        """One more entry, at the end."""

    def find(self, id: str) -> Logged | None:
        """The entry with this id."""

    def uploads(self, after: int = 0, upto: int | None = None) -> Iterable[Upload]:
        """The uploads in their order, after the first so many, and up to some."""


class Memory:
    """A log of which everything is at hand."""

    def __init__(self) -> None:
        self.entries: list[Logged] = []
        self.log: list[Upload] = []  # the uploads among the entries
        self._places: dict[str, int] = {}

    def add(self, logged: Logged) -> None:
        """One more entry, at the end."""
        self._places[logged.entry.id] = logged.place
        self.entries.append(logged)
        if isinstance(logged.entry, Upload):
            self.log.append(logged.entry)

    def find(self, id: str) -> Logged | None:
        """The entry with this id."""
        place = self._places.get(id)
        return None if place is None else self.entries[place]

    def uploads(self, after: int = 0, upto: int | None = None) -> Iterable[Upload]:
        """The uploads in their order, after the first so many, and up to some."""
        return self.log[after:upto]
