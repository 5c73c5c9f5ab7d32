"""What all routes share: the storage, who may call, and the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ssl import SSLContext
from typing import TypeVar

from bestarm.errors import Refused, ServiceError
from bestarm.protocol.messages import UnknownArm
from bestarm.service.http.asking import ask
from bestarm.service.http.auth import Access, Trusted
from bestarm.service.http.connections.door import Door
from bestarm.service.http.events import Hub
from bestarm.service.http.limits import Limits as Limits
from bestarm.service.http.notes import Notes
from bestarm.service.http.rates import Buckets
from bestarm.service.http.readiness import Readiness
from bestarm.service.http.shares import Shares
from bestarm.service.http.turns import Turns
from bestarm.service.storage import Storage
from bestarm.service.storage.kept.loader import Loading
from bestarm.service.storage.rows.tokens import Token
from bestarm.service.storage.study.overview import Charter, Overview

T = TypeVar("T")
POLL = 1.0  # seconds between two looks at what other processes have added to a study that is followed here


class Service:
    """The storage and the state of the HTTP side."""

    def __init__(self, storage: Storage, limits: Limits | None = None, access: type[Access] = Access) -> None:
        self.storage = storage
        self.limits = limits = limits or Limits()
        self.notes = Notes(quiet=issubclass(access, Trusted))
        self.door = Door(limits, self.notes)
        self.tls: SSLContext | None = None  # if the server speaks it itself
        self.files = 0  # that the process may open, if somebody has asked
        each, token = limits.connections_by_address, limits.requests_by_token
        self.streams = Shares("streams", limits.streams, each, token)
        self.exports = Shares("exports", limits.exports, limits.exports_by_address, limits.exports_by_token)
        self.access = access(storage, Buckets(limits.rate, limits.burst), Shares("requests", by_token=token))
        self.joining, self.correcting, self.looking = Turns(), Turns(), Turns()  # of each token one at a time
        self.readiness = Readiness(storage)
        self.hub = Hub()
        storage.grown = self.hub.grown

    async def study(self, name: str) -> Charter:
        """The study of this name; refused if there is none."""
        study = self.storage.known(name) or await ask(self.storage.find, name)
        if study is None:
            raise Refused(f"there is no study {name[:70]!r}.", "unknown-study", 404)
        return study

    async def about_arms(self, study: Charter, read: Callable[[tuple[str, ...]], T]) -> T:
        """What a message says about the study's arms, also about one that another process has added."""
        known = self.storage.arms(study)
        try:
            return read(known)
        except UnknownArm:
            arms = (await self.storage.look(study)).arms
            if arms == known:
                raise
        return read(arms)

    async def look(self, name: str) -> Overview:
        """A study as it stands."""
        return await self.storage.look(await self.study(name))

    async def look_at(self, token: Token, archived: bool = False) -> tuple[list[Overview], int]:
        """All studies that the caller may see and that are ready, and how many more there are that are damaged.

        Those that are archived are among them if they are asked for, or if the caller has no other.
        """
        own = [] if token.study is None else [token.study]
        names = own or await asyncio.to_thread(self.storage.names, archived)
        found = await asyncio.gather(*(self.look(name) for name in names), return_exceptions=True)
        damaged = 0
        for result in found:
            if isinstance(result, Loading):
                continue  # it is there again in a moment
            if isinstance(result, ServiceError):
                damaged += 1
            elif isinstance(result, BaseException):
                raise result
        return [result for result in found if isinstance(result, Overview)], damaged

    async def poll(self) -> None:
        """Tell streams about uploads that other server processes have taken."""
        while True:
            await asyncio.sleep(POLL)
            watched = dict(self.hub.watches)
            if not watched:
                continue
            try:
                lengths = await ask(self.storage.lengths, list(watched))
                for study_id, length in lengths.items():
                    if length > watched[study_id].length:
                        await self.storage.look(watched[study_id].study)
            except Exception as error:  # the database is away for a while: the streams wait with it
                self.storage.report("streams can't follow the log", error)
