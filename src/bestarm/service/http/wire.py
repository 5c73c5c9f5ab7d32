"""The bytes of a connection: how long the head of a request may be, and how long it may take."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bestarm.service.http.bodies import COMPLETE, PATIENCE

MOST_HEAD = 65_536  # bytes of a request that are not its body


class Wire(HttpToolsProtocol):
    """uvicorn's HTTP, which by itself reads a head without end, however slowly it comes."""

    # As in uvicorn's class; asyncio's takes transports that only read, too.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._beside = 0  # bytes of this request that were not its body
        self._complete = False  # its head
        self._late: asyncio.TimerHandle | None = self.loop.call_later(PATIENCE, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._beside += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._beside > MOST_HEAD:
            self.send_400_response("The head of the request is too long.")
        elif self._complete:
            self._in_time()
        elif self._late is None:
            self._late = self.loop.call_later(PATIENCE, self.transport.close)

    def on_message_begin(self) -> None:
        # What came in one piece with the first byte is not counted: it may belong to the request before.
        super().on_message_begin()
        self._beside, self._complete = 0, False

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._complete = True

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._beside -= len(body)

    def on_message_complete(self) -> None:
        self.scope["extensions"] = {COMPLETE: {}}
        super().on_message_complete()

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
