"""Attacks on a real server by callers who keep it waiting: while they last, an honest upload is answered."""

from __future__ import annotations

import resource
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from certificate import certificate
from serving import Process, serving
from sockets import connect, ended, head
from uploads import batch, small_problem

from bestarm.client.server.connection import Connection

PROBLEM = small_problem()
PLACES, PATIENCE = 64, 4.0
SMALL = ("--patience", str(PATIENCE), "--max-connections", str(PLACES), "--rate", "0")
UPLOAD, EXPORT = "POST /v1/studies/ligands/uploads", "GET /v1/studies/ligands/export"
ADDRESSES = [f"127.0.0.{k}" for k in range(2, 8)]


class Site:
    """An honest one: every upload on a connection of its own, and how long the slowest took."""

    def __init__(self, server: Process, name: str) -> None:
        with server.admin() as admin:
            made = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": name})
        self.url, self.token, self.name = server.url, made["token"], name
        self.sequence, self.slowest = 0, 0.0
        for _ in range(3):
            self.upload()
        self.quiet, self.slowest = self.slowest, 0.0

    def busy(self, seconds: float) -> float:
        """So long, and what a machine takes longer that has other things to do."""
        return seconds + 20 * self.quiet

    def upload(self) -> None:
        self.sequence += 1
        body = batch(PROBLEM, self.name, self.sequence, size=1).to_json(PROBLEM.arms)
        start = time.monotonic()
        with Connection(self.url, self.token) as connection:
            connection.call("POST", "/v1/studies/ligands/uploads", body)
        self.slowest = max(self.slowest, time.monotonic() - start)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(*SMALL, folder=tmp_path_factory.mktemp("server")) as process:
        with process.admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": 3})
        yield process


def viewer(server: Process) -> str:
    with server.admin() as admin:
        token: str = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "viewer"})["token"]
    return token


def refused(server: Process, kind: str) -> float:
    """How often something whose kind begins so was refused."""
    return server.metrics(f'refused_total{{kind="{kind}')


def whole(stream: socket.socket) -> bytes:
    """A refusal, or the start of a stream."""
    found = b""
    while b"}" not in found and b": following" not in found:
        piece = stream.recv(1000)
        assert piece, found
        found += piece
    return found


def drip(connections: list[socket.socket], what: bytes) -> None:
    """A drop for each that the server still listens to."""
    for connection in connections:
        with suppress(OSError):
            connection.sendall(what)


def heads(server: Process, source: str) -> socket.socket:
    made = connect(server.url, source)
    made.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
    return made


def bodies(server: Process, source: str) -> socket.socket:
    made = connect(server.url, source)
    made.sendall(head(UPLOAD, Content_Length="100000"))  # without a token: it is answered at once
    return made


def idlers(server: Process, source: str) -> socket.socket:
    made = connect(server.url, source)
    made.sendall(head("GET /healthz"))
    return made


def readers(server: Process, source: str) -> socket.socket:
    """Asks for the page again and again, and never looks at it."""
    made = connect(server.url, source, window=4096)
    made.sendall(head("GET /") * 300)
    return made


@pytest.mark.parametrize(
    ("attacker", "drop", "kind"),
    [(heads, b"a", "late-head"), (bodies, b"a", "late-rest"), (idlers, b"", ""), (readers, b"", "late-")],
)
def test_callers_without_a_token_shut_nobody_out(
    attacker: Callable[[Process, str], socket.socket], drop: bytes, kind: str, server: Process
) -> None:
    site = Site(server, f"lab-{attacker.__name__}")
    before, gave_way = refused(server, kind), refused(server, "gave-way")
    with ExitStack() as stack:
        # All at once, twice as many as there are places, and more of each address than it may have.
        sources = ADDRESSES * (2 * PLACES // len(ADDRESSES) + 1)
        attackers = [stack.enter_context(attacker(server, source)) for source in sources]
        for _ in range(8):
            drip(attackers, drop)
            site.upload()
        assert server.metric("connections") <= PLACES
        deadline = time.monotonic() + 2 * PATIENCE + 5
        while server.metric("connections") > 1 and time.monotonic() < deadline:
            drip(attackers, drop)
            time.sleep(0.1)
        assert server.metric("connections") == 1  # the one that asks
    assert site.slowest < site.busy(PATIENCE)  # it had not to wait until the others were given up
    assert refused(server, "gave-way") > gave_way
    if kind:
        assert refused(server, kind) > before
    lines = (server.folder / "stderr").read_text()
    assert lines.count("(gave-way)") == 1  # in a minute, however many there were
    assert "Traceback" not in lines


def test_a_viewer_with_many_exports_and_streams_is_told_to_wait(server: Process) -> None:
    token, site = viewer(server), Site(server, "lab-viewer")
    headers = {"Authorization": f"Bearer {token}"}
    with ExitStack() as stack:
        for source in ADDRESSES[:2]:
            unread = stack.enter_context(connect(server.url, source, window=4096))
            unread.sendall(head(EXPORT, token) * 200)
        site.upload()
        with httpx.Client(base_url=server.url, headers=headers) as client:
            end = time.monotonic() + 10
            while (refusal := client.get("/v1/studies/ligands/export")).status_code == 200:
                assert time.monotonic() < end
            assert (refusal.status_code, refusal.json()["code"]) == (429, "exports-token")
            assert refusal.headers["Retry-After"] == "5"
            site.upload()
            streams = [stack.enter_context(connect(server.url, source)) for source in ADDRESSES for _ in "ab"]
            for stream in streams:
                stream.sendall(head("GET /v1/studies/ligands/events", token))
            answers = [whole(stream) for stream in streams]
            taken = [answer.startswith(b"HTTP/1.1 200 ") for answer in answers]
            assert 0 < sum(taken) <= PLACES // 8
            assert b"-token" in answers[taken.index(False)]
            site.upload()
            assert server.metric("streams") == sum(taken)
    assert site.slowest < site.busy(PATIENCE)
    end = time.monotonic() + 10
    while server.metric("streams") + server.metric("exports") > 0:
        assert time.monotonic() < end


def test_behind_a_proxy_the_callers_are_counted_and_not_the_proxy(tmp_path: Path) -> None:
    """All connections come from one address, which is believed; each caller has a share of the streams."""
    options = ("--max-connections", "16", "--forwarded-allow-ips", "127.0.0.1", "--rate", "0")
    with serving(*options, folder=tmp_path) as server, ExitStack() as stack:
        with server.admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": 3})

        def stream(caller: str, source: str = "127.0.0.1") -> bytes:
            made = stack.enter_context(connect(server.url, source))
            made.sendall(head("GET /v1/studies/ligands/events", viewer(server), X_Forwarded_For=caller))
            return whole(made)

        answers = [stream("203.0.113.7") for _ in range(5)]  # four are a quarter of the places
        assert [answer[9:12] for answer in answers] == [b"200"] * 4 + [b"429"]
        assert b"streams-address" in answers[-1]
        assert stream("203.0.113.8").startswith(b"HTTP/1.1 200 ")
        # Whoever is not the proxy can't claim to be somebody else.
        others = [stream(f"203.0.113.{k}", "127.0.0.9") for k in range(20, 23)]
        assert [answer[9:12] for answer in others] == [b"200"] * 3
        assert server.metric("streams") == 8


def test_sigterm_waits_for_nobody_who_keeps_the_server_waiting(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as server:
        with server.admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": 3})
        site, token = Site(server, "lab-a"), viewer(server)
        with ExitStack() as stack:
            half, unread, silent = (stack.enter_context(connect(server.url, window=4096)) for _ in range(3))
            half.sendall(head(UPLOAD, site.token, Content_Length="1000") + b'{"half":')
            unread.sendall(head(EXPORT, token) * 300)
            silent.sendall(b"GET / HT")
            time.sleep(0.5)
            before = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - before < site.busy(3)
            assert ended(half)


def asked(server: Process, trusted: Path) -> float:
    """How many seconds an answer over TLS takes."""
    context, start = ssl.create_default_context(cafile=str(trusted)), time.monotonic()
    assert httpx.get(f"{server.url}/healthz", verify=context).json()["status"] == "ok"
    return time.monotonic() - start


def test_tls_is_not_waited_for_without_end(tmp_path: Path) -> None:
    trusted, options = certificate(tmp_path)
    with serving(*SMALL, *options, folder=tmp_path) as server, ExitStack() as stack:
        quiet = asked(server, trusted)
        silent = [stack.enter_context(connect(server.url, source)) for source in ADDRESSES for _ in range(20)]
        strange = stack.enter_context(connect(server.url))
        strange.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert asked(server, trusted) < PATIENCE + 20 * quiet
        assert ended(silent[-1])
        last = stack.enter_context(connect(server.url))
        last.sendall(b"\x16\x03\x01")
        time.sleep(0.2)
        start = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - start < 3 + 20 * quiet


def test_a_server_says_how_many_files_it_may_open(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    try:
        with serving("--max-connections", "700", folder=tmp_path) as server:
            assert server.metric("files_limit") >= 700 + 300  # it has raised the limit
            assert server.metric("connections_limit") == 700
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with serving("--max-connections", str(hard), folder=tmp_path) as server:
        assert server.metric("files_limit") == hard
        assert server.metric("connections_limit") < hard
        assert f"may open {hard} files" in " ".join((tmp_path / "stderr").read_text().split())


def test_what_is_not_http_is_one_line_however_often_it_comes(server: Process) -> None:
    before, log = refused(server, "not-http"), server.folder / "stderr"
    said = log.read_text()
    for _ in range(5):
        with connect(server.url) as stranger:
            stranger.sendall(b"hello\r\n\r\n")
            assert stranger.recv(100).startswith(b"HTTP/1.1 400 ")
        with connect(server.url) as stranger:
            stranger.sendall(head("GET /healthz", Connection="Upgrade", Upgrade="websocket"))
            assert stranger.recv(100).startswith(b"HTTP/1.1 200 ")
    assert refused(server, "not-http") == before + 5
    assert log.read_text().removeprefix(said).count("\n") == 1
