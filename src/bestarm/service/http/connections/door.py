"""Who is inside: connections are let in while there is room, and those that only wait give way to new ones.

One look around, several times in the shortest deadline, ends what is late. So a connection needs no timer of
its own, and nothing that it does, or leaves undone, can keep it inside.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import Enum
from typing import Protocol

from bestarm.service.http.limits import Limits
from bestarm.service.http.notes import Notes

TOGETHER = 16  # connections that give way at once: looking for them costs more than letting them go


class Phase(Enum):
    """What a connection is doing. All but the server's own work has a deadline."""

    HEAD = "head"  # the head of a request, or TLS before it, is to come
    IDLE = "idle"  # between two requests
    REST = "rest"  # the answer was given, and its request still comes
    UNREAD = "unread"  # the answer is not read
    BODY = "body"  # the body is to come, and the answer waits for it
    NOBODY = "nobody"  # the answer is made, for somebody who has shown no token
    WORK = "work"  # the answer is made
    ENDING = "ending"  # closed, with an answer that is not read yet


# Where there is no more room, connections in these phases give way; they keep nothing that is of value.
GIVE_WAY = (Phase.HEAD, Phase.IDLE, Phase.REST, Phase.UNREAD, Phase.NOBODY, Phase.ENDING)


class Guest(Protocol):
    """A connection: its phase, since when, and its address; None if it is a proxy's."""

    phase: Phase
    since: float
    address: str | None

    def look(self) -> None:
        """Find out which phase it is in."""

    def late(self) -> None:
        """The deadline of its phase is over."""

    def give_way(self) -> None:
        """End at once."""


class Door:
    """Lets connections in, and out."""

    def __init__(self, limits: Limits, notes: Notes) -> None:
        self.inside: set[Guest] = set()
        self._notes = notes
        self._limits = limits
        self._by_address: Counter[str] = Counter()
        self._deadlines = dict.fromkeys(Phase, limits.patience)
        self._deadlines |= {Phase.IDLE: limits.idle, Phase.REST: limits.idle, Phase.WORK: float("inf")}
        self._round = min(1.0, limits.idle / 4)  # seconds between two looks around
        self._looking = False

    def enter(self, guest: Guest) -> str | None:
        """Let a connection in; or the kind of refusal, if there is no room and nobody gives way."""
        address = guest.address
        if address is not None and self._by_address[address] >= self._limits.connections_by_address:
            self._make_room(address)
            if self._by_address[address] >= self._limits.connections_by_address:
                return "connections-address"
        if len(self.inside) >= self._limits.connections:
            self._make_room(None)
            if len(self.inside) >= self._limits.connections:
                return "connections"
        self.inside.add(guest)
        if address is not None:
            self._by_address[address] += 1
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(self._round, self._look_around)
        return None

    def leave(self, guest: Guest) -> None:
        """It has ended, or is about to; again is harmless."""
        if guest not in self.inside:
            return
        self.inside.remove(guest)
        if guest.address is not None:
            self._by_address[guest.address] -= 1
            if not self._by_address[guest.address]:
                del self._by_address[guest.address]

    def close(self) -> None:
        """Nobody waits for those that keep the server waiting."""
        for guest in list(self.inside):
            guest.look()
            if guest.phase not in (Phase.WORK, Phase.NOBODY):
                guest.give_way()

    def _make_room(self, address: str | None) -> None:
        """Those that have waited longest give way: of all, or of an address."""
        for guest in self.inside:
            guest.look()
        waiting = [
            guest
            for guest in self.inside
            if guest.phase in GIVE_WAY and (address is None or guest.address == address)
        ]
        for guest in sorted(waiting, key=lambda guest: guest.since)[:TOGETHER]:
            self.leave(guest)
            guest.give_way()
            self._notes.refused(
                "gave-way", guest.address or "a proxy", "there was no room for all connections."
            )

    def _look_around(self) -> None:
        loop = asyncio.get_running_loop()
        for guest in list(self.inside):
            guest.look()
            if loop.time() - guest.since >= self._deadlines[guest.phase]:
                guest.late()
        self._looking = bool(self.inside)
        if self._looking:
            loop.call_later(self._round, self._look_around)
