"""TLS before HTTP: a handshake counts as a connection, and has a deadline, like the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn import Config
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from bestarm.service.http.connections.door import Phase
from bestarm.service.http.connections.wire import LATE, Wire, counted_address, service_of


class Handshake(asyncio.Protocol):
    """A connection until it is secured; then a `Wire` takes over.

    On asyncio's own loop a task that begins here comes before the first byte, which is TLS's; uvloop may read
    before.
    """

    phase = Phase.HEAD

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._config = config
        self._wire = Wire(config, server_state, app_state, _loop)
        self._service = service_of(config)
        self._held = b""  # what came before the wire was there
        self.since = self._wire.loop.time()
        self.address: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # a server's reads and writes
        self._client = get_remote_addr(self._transport)
        self.address = counted_address(self._config, self._client)
        refused = self._service.door.enter(self)
        if refused is not None:
            self._refused(refused, "there are too many connections.")
            self._transport.abort()
            return
        self._task = self._wire.loop.create_task(self._secure())

    def data_received(self, data: bytes) -> None:
        self._held += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.door.leave(self)

    async def _secure(self) -> None:
        context = self._service.tls
        assert context is not None
        try:
            secured = await self._wire.loop.start_tls(self._transport, self, context, server_side=True)
        except (OSError, asyncio.CancelledError):  # also what TLS itself refuses
            secured = None
        self._service.door.leave(self)
        if secured is None or secured.is_closing():
            self._transport.abort()
            return
        secured.set_protocol(self._wire)
        self._wire.connection_made(secured)
        if self._held and not secured.is_closing():
            self._wire.data_received(self._held)

    def look(self) -> None:
        """It stays in its phase for as long as it is."""

    def late(self) -> None:
        self._refused("late-head", LATE[Phase.HEAD])
        self.give_way()

    def give_way(self) -> None:
        self._transport.abort()
        self._task.cancel()

    def _refused(self, kind: str, sentence: str) -> None:
        self._service.notes.refused(kind, self._client[0] if self._client else "?", sentence)
