"""Connections whose requests are endless or slow, on a real server: they end, and no other is disturbed."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn
from sockets import answer, connect, ended, head, open_still
from uploads import batch, small_problem

from bestarm.service.http.connections import wire
from bestarm.service.http.connections.door import Guest, Phase
from bestarm.service.http.connections.listener import bind
from bestarm.service.http.limits import Limits

PATIENCE, IDLE = Limits().patience, Limits().idle
PROBLEM = small_problem()
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
        self.bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # so that little is much
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

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        host, port = self.bound.getsockname()
        self.opened.append(connect(f"http://{host}:{port}", source, window=4096))
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
def start(make_world: Callable[..., Any]) -> Iterator[Callable[..., tuple[Any, Server]]]:
    """Starts servers with limits."""
    started = []

    def make(**limits: float) -> tuple[Any, Server]:
        world = make_world(**limits)
        world.create()
        started.append(Server(world.app))
        return world, started[-1]

    yield make
    for server in started:
        server.close()


@pytest.fixture
def server(start: Callable[..., tuple[Any, Server]]) -> Server:
    return start()[1]


@pytest.mark.parametrize(
    ("first", "more"),
    [
        (b"GET /", b"a" * 1000),
        (HEALTH + b"X: ", b"a" * 1000),
        (HEALTH, b"x: y\r\n" * 200),
        (UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 1000),
        (UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"x: y\r\n" * 200),
    ],
    ids=["address", "field", "fields", "chunk", "trailer"],
)
def test_a_head_without_end_is_not_read_to_the_end(server: Server, first: bytes, more: bytes) -> None:
    connection = server.connect()
    connection.sendall(first)
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
    assert found.endswith(b'{"error": "the head of the request is too long.", "code": "not-http"}')


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


@pytest.mark.parametrize("first", [b"", b"GET", HEALTH])
def test_a_head_that_does_not_come_is_not_waited_for(server: Server, first: bytes) -> None:
    connection = server.connect()
    connection.sendall(first)
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


def inside(world: Any) -> set[Guest]:
    """The connections that the server has."""
    found: set[Guest] = world.app.state.service.door.inside
    return found


def wait_until(true: Callable[[], bool]) -> None:
    """Files and answers are made in threads, which have no clock to put forward."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def refused(world: Any) -> dict[str, int]:
    """What the server has counted, by kind."""
    counts: dict[str, int] = world.app.state.service.notes.counts
    return counts


def test_the_rest_of_a_body_is_not_waited_for_after_the_answer(start: Any) -> None:
    world, server = start()
    connection = server.connect()
    connection.sendall(UPLOAD + b"Content-Length: 1000\r\n\r\n")
    assert answer(connection).startswith(b"HTTP/1.1 401 ")
    for _ in range(9):
        connection.sendall(b"x")
        server.skip(IDLE / 10)
        assert open_still(connection)
    connection.sendall(b"x")
    server.skip(IDLE / 5)
    assert ended(connection)
    assert refused(world)["late-rest"] == 1


def test_a_body_that_is_to_be_answered_has_its_own_deadline_and_a_sentence(start: Any) -> None:
    world, server = start()
    token = world.token(role="agent", agent="lab-a")
    connection = server.connect()
    connection.sendall(head("POST /v1/studies/ligands/uploads", token, Content_Length="1000") + b"{")
    server.skip(0.9 * PATIENCE)
    assert open_still(connection)
    connection.sendall(b" ")
    server.skip(0.2 * PATIENCE)
    found = answer(connection)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert b"x-content-type-options: nosniff" in found
    assert found.endswith(b'{"error": "body: it took too long to arrive.", "code": "too-slow"}')
    assert refused(world)["too-slow"] == 1


def test_nobody_stays_who_has_nothing_to_say(start: Any) -> None:
    world, server = start()
    connection = server.connect()
    connection.sendall(HEALTH + b"\r\n")
    assert b'"status":"ok"' in answer(connection)
    server.skip(0.8 * IDLE)
    assert open_still(connection)
    server.skip(0.4 * IDLE)
    assert ended(connection)
    assert not refused(world)  # which is usual


def test_an_answer_that_nobody_reads_is_not_kept(start: Any) -> None:
    """Neither a file that is asked for again and again, without a token, nor an export."""
    world, server = start()
    viewer = world.token(role="viewer")
    for request in (head("GET /"), head("GET /v1/studies/ligands/export", viewer)):
        connection = server.connect()
        connection.sendall(request * 300)
        wait_until(lambda: [guest.phase for guest in inside(world)] == [Phase.UNREAD])
        server.skip(0.8 * PATIENCE)
        assert len(inside(world)) == 1
        server.skip(0.3 * PATIENCE)
        wait_until(lambda: not inside(world))
    assert refused(world)["late-unread"] == 2
    wait_until(lambda: world.app.state.service.exports.under_way == 0)


def test_an_event_stream_that_nobody_reads_ends(start: Any) -> None:
    world, server = start(keep_alive=1e6, rate=0)
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    for sequence in range(1, 401):
        body = batch(PROBLEM, "lab-a", sequence, size=1).to_json(PROBLEM.arms)
        lab.call("POST", "/v1/studies/ligands/uploads", body)
    service = world.app.state.service
    server.connect().sendall(head("GET /v1/studies/ligands/events", world.token(role="viewer")))
    read = server.connect()
    read.sendall(head("GET /v1/studies/ligands/events", world.token(role="viewer")))
    text = b""
    while b"id: 400" not in text:
        text += read.recv(65_536)
    assert service.streams.under_way == 2
    wait_until(lambda: Phase.UNREAD in [guest.phase for guest in inside(world)])
    server.skip(1.1 * PATIENCE)
    wait_until(lambda: service.streams.under_way == 1)
    assert open_still(read)
    assert refused(world)["late-unread"] == 1


def test_those_that_wait_longest_give_way_to_new_ones(start: Any) -> None:
    world, server = start(connections=8)
    waiting = [server.connect(f"127.0.0.{k}") for k in range(2, 10)]
    server.skip(1.0)
    for connection in waiting:
        connection.sendall(HEALTH)
    server.skip(1.0)
    with closing(server.connect()) as other:
        other.sendall(HEALTH + b"\r\n")
        assert b'"status":"ok"' in answer(other)
    assert not all(open_still(connection) for connection in waiting)
    assert refused(world)["gave-way"] > 0
    assert len(inside(world)) <= 8


def test_connections_of_one_address_are_limited(start: Any) -> None:
    """By those that give way; and where all are at work, in a sentence."""
    world, server = start(connections=8, keep_alive=1e6)
    viewers = [world.token(role="viewer") for _ in range(4)]
    streams = [server.connect("127.0.0.2") for _ in range(2)]
    for stream, token in zip(streams, viewers, strict=False):
        stream.sendall(head("GET /v1/studies/ligands/events", token))
        assert stream.recv(1000).startswith(b"HTTP/1.1 200 ")
    third = server.connect("127.0.0.2")
    found = answer(third)
    assert found.startswith(b"HTTP/1.1 503 ")
    assert found.endswith(b'"code": "connections-address"}')
    with closing(server.connect("127.0.0.3")) as other:
        other.sendall(HEALTH + b"\r\n")
        assert b'"status":"ok"' in answer(other)
    assert refused(world) == {"connections-address": 1}
    assert all(open_still(stream) for stream in streams)


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "given up"])
def test_a_stream_with_a_request_behind_it_ends_with_its_connection(
    lost: bool, start: Callable[..., tuple[Any, Server]]
) -> None:
    world, server = start()
    service = world.app.state.service
    connection = server.connect()
    events = head("GET /v1/studies/ligands/events", world.token(role="viewer"))
    connection.sendall(events + HEALTH + b"\r\n")
    assert b"200 OK" in connection.recv(100)
    if lost:
        connection.close()
    else:
        server.skip(PATIENCE + 1)
    deadline = time.monotonic() + 5
    while service.streams.under_way and time.monotonic() < deadline:
        time.sleep(0.01)
    assert service.streams.under_way == 0
