"""Connections whose requests are endless or slow, on a real server: they end, and no other is disturbed."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import uvicorn

from bestarm.service.http import wire
from bestarm.service.http.bodies import PATIENCE
from bestarm.service.http.listener import bind

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: here\r\n"
UPLOAD = b"POST /v1/studies/ligands/uploads HTTP/1.1\r\nHost: here\r\nBestarm-Protocol: 2\r\n"


class Skipping(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward, so that nobody waits for its timers."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped

    async def skip(self, seconds: float) -> None:
        """Let what has arrived be taken, then let so many seconds pass at once, and what is due happen."""
        for passed in (0.0, seconds):
            self.skipped += passed
            for _ in range(20):
                await asyncio.sleep(0)


class Server(uvicorn.Server):
    """A server in a thread of this process, and connections to it."""

    def __init__(self, app: object) -> None:
        super().__init__(
            uvicorn.Config(app, http=wire.Wire, ws="none", lifespan="off", log_level="critical")  # type: ignore[arg-type]
        )
        self.listening = threading.Event()
        self.bound = bind("127.0.0.1", 0)
        self.clock = Skipping(selectors.DefaultSelector())
        self.opened: list[socket.socket] = []
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        assert self.listening.wait(20)

    def work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.clock) as runner:
            runner.run(self.serve([self.bound]))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    def connect(self) -> socket.socket:
        self.opened.append(socket.create_connection(self.bound.getsockname(), timeout=20))
        return self.opened[-1]

    def skip(self, seconds: float) -> None:
        """So many seconds later."""
        asyncio.run_coroutine_threadsafe(self.clock.skip(seconds), self.clock).result(20)

    def close(self) -> None:
        for connection in self.opened:
            connection.close()
        self.should_exit = True
        self.thread.join()
        self.bound.close()


@pytest.fixture
def server(make_world: Callable[..., object]) -> Iterator[Server]:
    started = Server(make_world().app)  # type: ignore[attr-defined]
    yield started
    started.close()


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection, or one whole answer without a body limit."""
    found = b""
    while chunk := connection.recv(65_536):
        found += chunk
        if found.endswith(b"}"):
            break
    return found


def ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection, without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def open_still(connection: socket.socket) -> bool:
    """Whether the server has not ended the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        connection.settimeout(20)


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"GET /", b"a" * 1000),
        (HEALTH + b"X: ", b"a" * 1000),
        (HEALTH, b"x: y\r\n" * 200),
        (UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 1000),
        (UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"x: y\r\n" * 200),
    ],
    ids=["address", "field", "fields", "chunk", "trailer"],
)
def test_a_head_without_end_is_not_read_to_the_end(server: Server, start: bytes, more: bytes) -> None:
    connection = server.connect()
    connection.sendall(start)
    sent = 0
    try:
        while sent < 20_000_000:
            connection.sendall(more)
            sent += len(more)
    except (ConnectionResetError, BrokenPipeError):
        pass
    assert sent < 20_000_000
    with closing(server.connect()) as other:
        other.sendall(HEALTH + b"\r\n")
        assert b'"status":"ok"' in answer(other)


def test_it_is_told_so_if_it_listens(server: Server) -> None:
    connection = server.connect()
    connection.sendall(HEALTH + b"X: ")
    server.skip(0)
    connection.sendall(b"a" * (wire.MOST_HEAD + 1))
    found = answer(connection)
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.endswith(b"The head of the request is too long.")


def test_a_long_head_within_the_limit_is_read(server: Server) -> None:
    connection = server.connect()
    connection.sendall(HEALTH + b"X: " + b"a" * (wire.MOST_HEAD - 1000) + b"\r\n\r\n")
    assert b'"status":"ok"' in answer(connection)


def test_a_body_is_no_head(server: Server) -> None:
    """It has its own limit, and the token comes first."""
    connection = server.connect()
    body = b"x" * (5 * wire.MOST_HEAD)
    connection.sendall(UPLOAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert answer(connection).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("start", [b"", b"GET", HEALTH])
def test_a_head_that_does_not_come_is_not_waited_for(server: Server, start: bytes) -> None:
    connection = server.connect()
    connection.sendall(start)
    server.skip(0.9 * PATIENCE)
    assert open_still(connection)
    server.skip(0.2 * PATIENCE)
    assert ended(connection)


def test_neither_is_the_second_on_a_connection(server: Server) -> None:
    connection = server.connect()
    connection.sendall(HEALTH + b"\r\n")
    assert b'"status":"ok"' in answer(connection)
    connection.sendall(HEALTH)
    server.skip(0.9 * PATIENCE)
    assert open_still(connection)
    server.skip(0.2 * PATIENCE)
    assert ended(connection)


def test_drops_do_not_buy_time(server: Server) -> None:
    connection = server.connect()
    for letter in HEALTH[:10]:
        assert open_still(connection)
        connection.sendall(bytes([letter]))
        server.skip(PATIENCE / 10)
    assert ended(connection)


def test_requests_that_are_in_time_stay(server: Server) -> None:
    """One after the other, each in two pieces, for longer than a head may take."""
    connection = server.connect()
    for _ in range(6):
        connection.sendall(HEALTH)
        server.skip(0.9 * PATIENCE)
        connection.sendall(b"\r\n")
        assert b'"status":"ok"' in answer(connection)


def test_several_requests_in_one_piece_are_all_answered(server: Server) -> None:
    connection = server.connect()
    connection.sendall((HEALTH + b"\r\n") * 3)
    found = b""
    while found.count(b'"status":"ok"') < 3:
        found += connection.recv(65_536)
    assert found.count(b"HTTP/1.1 200 ") == 3
