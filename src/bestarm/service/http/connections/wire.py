"""The bytes of a connection: how long the head of a request may be, and who keeps whom waiting."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import Any, cast

from fastapi import FastAPI
from uvicorn import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from bestarm.service.http.connections.door import Phase
from bestarm.service.http.headers import EVERYWHERE
from bestarm.service.http.service import Service
from bestarm.service.http.shares import HELD, neighbourhood

MOST_HEAD = 65_536  # bytes of a request that are not its body
LATE = {
    Phase.HEAD: "the head of a request did not come in time.",
    Phase.REST: "the rest of a body did not come in time after the answer.",
    Phase.BODY: "body: it took too long to arrive.",
    Phase.NOBODY: "a caller without a token had too many requests.",
    Phase.UNREAD: "an answer was not read in time.",
    Phase.ENDING: "the last answer was not read in time.",
}


# uvicorn writes a line for every request that is not HTTP; here they are counted, and noted once a minute.
QUIET = logging.getLogger("bestarm.service.wire")
QUIET.setLevel(logging.ERROR)


class Wire(HttpToolsProtocol):
    """uvicorn's HTTP, which by itself waits for a head, a body or a reader without end."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = QUIET
        self.service = service_of(config)
        self.phase = self._part = Phase.HEAD  # the part of a request that comes: its head, its body, or none
        self.since = 0.0
        self.address: str | None = None
        self._beside = 0  # bytes of this request that were not its body
        self._asked: deque[RequestResponseCycle] = deque()  # requests without a whole answer, in their order

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))  # a server's reads and writes
        self.since = self.loop.time()
        self.address = counted_address(self.config, self.client)
        refused = self.service.door.enter(self)
        if refused is not None:
            self._refuse(503, refused, "there are too many connections; try again later.")

    def connection_lost(self, exc: Exception | None) -> None:
        self.service.door.leave(self)
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._beside += len(data)
        super().data_received(data)
        if not self.transport.is_closing():
            self._unset_keepalive_if_required()
            if self._beside > MOST_HEAD:
                self.send_400_response("The head of the request is too long.")
        self.look()

    def on_message_begin(self) -> None:
        # What came in one piece with the first byte is not counted: it may belong to the request before.
        super().on_message_begin()
        self._beside, self._part = 0, Phase.HEAD

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._asked.append(self.cycle)
        self._part = Phase.BODY

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._beside -= len(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._part = Phase.IDLE

    def on_response_complete(self) -> None:
        while self._asked and self._asked[0].response_complete:
            self._asked.popleft()
        super().on_response_complete()
        self._unset_keepalive_if_required()  # the door knows how long this may take
        self.look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.look()

    def shutdown(self) -> None:
        """Finish what is under way, and wait for nobody."""
        if self.phase in (Phase.WORK, Phase.NOBODY):
            super().shutdown()
        else:
            self.give_way()

    def look(self) -> None:
        phase = self._now()
        if phase is not self.phase:
            self.phase, self.since = phase, self.loop.time()

    def _now(self) -> Phase:
        if self.transport.is_closing():
            return Phase.ENDING
        if self.flow.write_paused:
            return Phase.UNREAD
        if self.cycle is not None and not self.cycle.response_complete:
            if self._part is Phase.BODY:
                return Phase.BODY
            return Phase.WORK if self.cycle.scope.get(HELD) else Phase.NOBODY
        return Phase.REST if self._part is Phase.BODY else self._part

    def late(self) -> None:
        if self.phase is Phase.BODY and not self.cycle.response_started and not self.pipeline:
            self._refuse(408, "too-slow", LATE[Phase.BODY])
            return
        if self.phase in LATE:
            self.service.notes.refused(f"late-{self.phase.value}", self._peer, LATE[self.phase])
        self.give_way()

    def give_way(self) -> None:
        self._forget()
        if self.phase in (Phase.UNREAD, Phase.ENDING, Phase.BODY):
            self.transport.abort()
        else:
            self.transport.close()
        self.look()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "not-http", f"{msg[:1].lower()}{msg[1:]}")

    def _refuse(self, status: int, code: str, sentence: str) -> None:
        """Answer without the application, and end."""
        self.service.notes.refused(code, self._peer, sentence)
        body = json.dumps({"error": sentence, "code": code}).encode()
        lines = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        lines += [*EVERYWHERE, (b"connection", b"close")]
        head = b"".join(b"%s: %s\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[status] + head + b"\r\n" + body)
        self.transport.close()
        self._forget()
        self.look()

    def _forget(self) -> None:
        """Nobody hears the answers that are still made. uvicorn tells only the last of several requests so."""
        for cycle in self._asked:
            cycle.disconnected = True
            cycle.message_event.set()
        self._asked.clear()

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client else "?"


def service_of(config: Config) -> Service:
    """The service of the application that is served."""
    assert isinstance(config.app, FastAPI)
    service: Service = config.app.state.service
    return service


def counted_address(config: Config, client: tuple[str, int] | None) -> str | None:
    """The address that a connection counts for; none if it is that of a proxy, which has many callers."""
    app, peer = config.loaded_app, client[0] if client else ""
    if isinstance(app, ProxyHeadersMiddleware) and peer in app.trusted_hosts:
        return None
    return neighbourhood(peer)
