"""Connections whose requests are endless or slow, on a real server: they end, and no other is disturbed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import uvicorn

from bestarm.service.http import wire
from bestarm.service.http.listener import bind

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: here\r\n"
UPLOAD = b"POST /v1/studies/ligands/uploads HTTP/1.1\r\nHost: here\r\n"

Connect = Callable[[], socket.socket]


@pytest.fixture
def connect(make_world: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Connections to a server in this process that waits for a head for 0.4 seconds."""
    monkeypatch.setattr(wire, "PATIENCE", 0.4)
    world = make_world()
    bound = bind("127.0.0.1", 0)
    config = uvicorn.Config(world.app, http=wire.Wire, ws="none", lifespan="off", log_level="critical")  # type: ignore[attr-defined]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    opened: list[socket.socket] = []

    def another() -> socket.socket:
        opened.append(socket.create_connection(bound.getsockname(), timeout=20))
        return opened[-1]

    while not server.started:
        time.sleep(0.01)
    yield another
    for connection in opened:
        connection.close()
    server.should_exit = True
    thread.join()
    bound.close()


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
def test_a_head_without_end_is_not_read_to_the_end(connect: Connect, start: bytes, more: bytes) -> None:
    connection = connect()
    connection.sendall(start)
    sent = 0
    try:
        while sent < 20_000_000:
            connection.sendall(more)
            sent += len(more)
    except (ConnectionResetError, BrokenPipeError):
        pass
    assert sent < 20_000_000
    with closing(connect()) as other:
        other.sendall(HEALTH + b"\r\n")
        assert b'"status":"ok"' in answer(other)


def test_it_is_told_so_if_it_listens(connect: Connect) -> None:
    connection = connect()
    connection.sendall(HEALTH + b"X: ")
    time.sleep(0.1)
    connection.sendall(b"a" * (wire.MOST_HEAD + 1))
    found = answer(connection)
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.endswith(b"The head of the request is too long.")


def test_a_long_head_within_the_limit_is_read(connect: Connect) -> None:
    connection = connect()
    connection.sendall(HEALTH + b"X: " + b"a" * (wire.MOST_HEAD - 1000) + b"\r\n\r\n")
    assert b'"status":"ok"' in answer(connection)


def test_a_body_is_no_head(connect: Connect) -> None:
    """It has its own limit, and the token comes first."""
    connection = connect()
    body = b"x" * (5 * wire.MOST_HEAD)
    connection.sendall(UPLOAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert answer(connection).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("start", [b"", b"GET", HEALTH])
def test_a_head_that_does_not_come_is_not_waited_for(connect: Connect, start: bytes) -> None:
    connection = connect()
    began = time.monotonic()
    connection.sendall(start)
    assert ended(connection)
    assert 0.3 < time.monotonic() - began < 15


def test_neither_is_the_second_on_a_connection(connect: Connect) -> None:
    connection = connect()
    connection.sendall(HEALTH + b"\r\n")
    assert b'"status":"ok"' in answer(connection)
    connection.sendall(HEALTH)
    assert ended(connection)


def test_drops_do_not_buy_time(connect: Connect) -> None:
    connection = connect()
    began = time.monotonic()
    try:
        for letter in HEALTH * 20:
            connection.sendall(bytes([letter]))
            time.sleep(0.02)
    except (ConnectionResetError, BrokenPipeError):
        pass
    assert time.monotonic() - began < 10


def test_requests_that_are_in_time_stay(connect: Connect) -> None:
    """One after the other, each in two pieces, for longer than a head may take."""
    connection = connect()
    for _ in range(6):
        connection.sendall(HEALTH)
        time.sleep(0.1)
        connection.sendall(b"\r\n")
        assert b'"status":"ok"' in answer(connection)


def test_several_requests_in_one_piece_are_all_answered(connect: Connect) -> None:
    connection = connect()
    connection.sendall((HEALTH + b"\r\n") * 3)
    found = b""
    while found.count(b'"status":"ok"') < 3:
        found += connection.recv(65_536)
    assert found.count(b"HTTP/1.1 200 ") == 3
