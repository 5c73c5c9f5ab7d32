"""A real server process: what it prints, how it stops, and what survives when it is killed."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from certificate import certificate
from serving import BESTARM, Process, serving
from sockets import connect, head
from uploads import batch, small_problem

from bestarm.client.server.connection import Connection
from bestarm.errors import ServiceError
from bestarm.service.view.exports.verify import verify

PROBLEM = small_problem()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(folder=tmp_path_factory.mktemp("server")) as process:
        create(process)
        yield process


def create(server: Process) -> None:
    with server.admin() as admin:
        admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": 3})


def agent(server: Process, name: str = "lab-a") -> Connection:
    with server.admin() as admin:
        made = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": name})
    return Connection(server.url, made["token"])


def upload(connection: Connection, sequence: int, name: str = "lab-a") -> dict[str, Any]:
    body = batch(PROBLEM, name, sequence, size=1).to_json(PROBLEM.arms)
    return connection.call("POST", "/v1/studies/ligands/uploads", body)


def test_programs_get_one_object_and_a_busy_port_costs_no_token(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = [BESTARM, "serve", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(busy, capture_output=True, cwd=tmp_path, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "can't be listened on" in done.stderr
    command = [BESTARM, "serve", "--port", "0", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        try:
            with Connection(said["url"], said["admin_token"]) as admin:
                assert admin.call("GET", "/v1/studies")["studies"] == []
        finally:
            process.terminate()
        assert process.wait(timeout=20) == 0


def test_the_first_start_prints_the_token_once(tmp_path: Path) -> None:
    def first_lines() -> list[str]:
        command = [BESTARM, "serve", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            if not lines[0].startswith("listening"):
                lines.append(process.stdout.readline())
            url = lines[-1].removeprefix("listening on ").strip()
            assert httpx.get(f"{url}/healthz").json()["status"] == "ok"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        return lines

    first, second = first_lines(), first_lines()
    assert first[0].startswith("admin token: ")
    assert len(first) == 2
    assert len(second) == 1
    assert not (tmp_path / "admin-token").exists()


def test_it_listens_on_this_machine_only(server: Process) -> None:
    address = urlsplit(server.url)
    assert address.hostname == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", address.port or 0), timeout=2)


def test_it_stops_in_good_order_with_a_stream_open(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as server:
        create(server)
        stop_with_a_stream_open(server)


def stop_with_a_stream_open(server: Process) -> None:
    lab = agent(server)
    upload(lab, 1)
    seen: list[str] = []
    started = threading.Event()

    def read() -> None:
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        with httpx.stream("GET", f"{server.url}/v1/studies/ligands/events", headers=headers) as answer:
            for line in answer.iter_lines():
                seen.append(line)
                if line.startswith("data:"):
                    started.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert started.wait(10)
    lab.close()
    before = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - before < 5
    reader.join(timeout=5)
    assert not reader.is_alive()
    assert "event: upload" in seen


def test_a_reply_that_is_lost_after_the_commit(server: Process) -> None:
    """The agent goes away before it hears the answer; sent again, the upload has its place and counts once."""
    lab = agent(server)
    body = json.dumps(batch(PROBLEM, "lab-a", 1, size=1).to_json(PROBLEM.arms)).encode()
    token = lab.http.headers["Authorization"].removeprefix("Bearer ")
    with connect(server.url) as connection:
        connection.sendall(
            head("POST /v1/studies/ligands/uploads", token, Content_Length=f"{len(body)}") + body
        )
        deadline = time.monotonic() + 10
        while lab.call("GET", "/v1/studies/ligands")["uploads"] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert upload(lab, 1)["position"] == 1
    study = lab.call("GET", "/v1/studies/ligands")
    assert (study["uploads"], study["samples"]) == (1, 3)
    assert upload(lab, 2)["position"] == 2
    lab.close()


def test_what_was_answered_survives_kill_9(tmp_path: Path) -> None:
    """Three agents upload as fast as they can while the server is killed; every answer stands, once."""
    answered: dict[str, list[int]] = {name: [] for name in ("lab-a", "lab-b", "lab-c")}
    with serving(folder=tmp_path) as server:
        create(server)
        labs = {name: agent(server, name) for name in answered}

        def work(name: str) -> None:
            try:
                for sequence in range(1, 10_000):
                    answered[name].append(upload(labs[name], sequence, name)["position"])
            except ServiceError:
                pass

        threads = [threading.Thread(target=work, args=(name,)) for name in labs]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while sum(map(len, answered.values())) < 50:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        for thread in threads:
            thread.join(timeout=20)
        for lab in labs.values():
            lab.close()
    with serving(folder=tmp_path) as server, server.admin() as admin:
        exported = admin.call("GET", "/v1/studies/ligands/export")
        verify(exported)
        log = {(row["agent"], row["sequence"]): row["position"] for row in exported["uploads"]}
        assert len(log) == len(exported["uploads"])
        for name, positions in answered.items():
            for sequence, position in enumerate(positions, 1):
                assert log[name, sequence] == position
            lab = agent(server, name)
            known = lab.call("POST", "/v1/studies/ligands/join")["sequence"]
            assert known - len(positions) in (0, 1)  # at most the one that was under way
            assert upload(lab, len(positions) + 1, name)["position"] <= len(log) + 3
            lab.close()


def test_tls(tmp_path: Path) -> None:
    trusted, options = certificate(tmp_path)
    with serving(*options, folder=tmp_path) as server:
        assert server.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(trusted))
        assert httpx.get(f"{server.url}/healthz", verify=context).json()["status"] == "ok"


def test_a_port_that_is_taken_is_said_in_a_sentence(tmp_path: Path, server: Process) -> None:
    port = str(urlsplit(server.url).port)
    command = [BESTARM, "serve", "--port", port, "--admin-token-file", "token"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert "can't be listened on" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
