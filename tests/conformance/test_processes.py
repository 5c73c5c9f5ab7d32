"""Several server processes on one PostgreSQL: agents talk to any of them, and there is one order."""

from __future__ import annotations

import json
import random
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from postgres import Postgres
from serving import Process, serving
from uploads import batch, small_problem

from bestarm.client.server.connection import Connection
from bestarm.service.view.exports.verify import verify

PROBLEM = small_problem(means=(0.9, 0.85, 0.8))
AGENTS, UPLOADS = 6, 15


def test_several_servers_keep_one_order(cluster: Postgres, tmp_path: Path) -> None:
    url = cluster.database()
    with ExitStack() as stack:
        servers = []
        for k in range(3):
            (tmp_path / str(k)).mkdir()
            servers.append(stack.enter_context(serving("--storage", url, folder=tmp_path / str(k))))
        with servers[0].admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": AGENTS})
        heard = Listener(servers[2])
        failures: list[BaseException] = []
        threads = [threading.Thread(target=agent, args=(f"lab-{k}", servers, failures)) for k in range(AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert not failures
        exports = []
        for server in servers:
            with server.admin() as admin:
                exports.append(admin.call("GET", "/v1/studies/ligands/export"))
        assert exports[0] == exports[1] == exports[2]
        rows = exports[0]["uploads"]
        assert [row["position"] for row in rows] == list(range(1, AGENTS * UPLOADS + 1))
        verify(exports[0])
        assert heard.wait(len(rows)) == list(range(1, len(rows) + 1))


def agent(name: str, servers: list[Process], failures: list[BaseException]) -> None:
    """Uploads in order, each to a server of its choice, and now and then to two of them."""
    chance = random.Random(name)
    try:
        with servers[0].admin() as admin:
            made = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": name})
        with ExitStack() as stack:
            ways = [stack.enter_context(Connection(server.url, made["token"])) for server in servers]
            for sequence in range(1, UPLOADS + 1):
                body = batch(PROBLEM, name, sequence, size=1).to_json(PROBLEM.arms)
                answers = [
                    chance.choice(ways).call("POST", "/v1/studies/ligands/uploads", body)
                    for _ in range(chance.choice([1, 1, 2]))
                ]
                assert all(answer == answers[0] for answer in answers)
    except BaseException as failure:
        failures.append(failure)


class Listener:
    """Follows the stream of one server; most uploads go to the others."""

    def __init__(self, server: Process) -> None:
        self.positions: list[int] = []
        self._more = threading.Condition()
        self._connected = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(server,), daemon=True)
        self._thread.start()
        assert self._connected.wait(10)

    def _read(self, server: Process) -> None:
        headers: dict[str, Any] = {"Authorization": f"Bearer {server.admin_token}"}
        try:
            with httpx.stream("GET", f"{server.url}/v1/studies/ligands/events", headers=headers) as answer:
                self._connected.set()
                for line in answer.iter_lines():
                    if line.startswith('data: {"position"'):
                        with self._more:
                            self.positions.append(json.loads(line.removeprefix("data: "))["position"])
                            self._more.notify()
        except httpx.HTTPError:
            pass  # the server was stopped

    def wait(self, length: int) -> list[int]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.positions) >= length, timeout=10)
        return self.positions
