"""Real servers in trouble, and clients that write down what they saw: every history fits the model.

The model is a log: an upload that was acknowledged is in it exactly once, at the place that was named; the
order of what happened is the order of the log; the same upload gets the same answer for ever; the verdict is
what the log says.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import psycopg
import pytest
from history import Clerk, Sent, check, replay
from postgres import Postgres, postgres
from processes import Nursery
from toll import note

from bestarm import Problem
from bestarm.client.server.connection import Connection
from bestarm.errors import ServiceError
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.server import Server

ROUNDS = int(os.environ.get("BESTARM_FAULTS", "8"))  # on each storage; `make soak` has more
SERVERS = ("first", "second")
AGENTS = 6


class Cluster:
    """Two servers on one storage, and what can happen to them."""

    def __init__(self, folder: Path, storage: str, database: Postgres | None) -> None:
        self.folder, self.storage, self.database = folder, storage, database
        self.nursery = Nursery(folder)
        self.token = folder / "admin-token"
        self.ports = {name: free_port() for name in SERVERS}
        for name in SERVERS:
            self.start(name)

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports.values()]

    def start(self, name: str, **trouble: float) -> None:
        options = ("--storage", self.storage, "--port", str(self.ports[name]), "--rate", "0")
        admin = ("--admin-token-file", str(self.token))
        if trouble:
            self.nursery.start(name, "serve in trouble", trouble, *options, *admin)
        else:
            self.nursery.start(name, "serve", *options, *admin)

    def again(self, name: str, **trouble: float) -> None:
        self.nursery.kill(name)
        self.start(name, **trouble)

    # What can happen

    def killed(self, random: Random) -> None:
        self.again(random.choice(SERVERS))

    def both_killed(self, random: Random) -> None:
        for name in SERVERS:
            self.nursery.kill(name)
        for name in SERVERS:
            self.start(name)

    def stopped(self, random: Random) -> None:
        name = random.choice(SERVERS)
        self.nursery.halt(name)
        time.sleep(random.uniform(0.1, 0.6))
        self.nursery.go_on(name)

    def wrong_clock(self, random: Random) -> None:
        self.again(random.choice(SERVERS), days=random.choice((-40.0, 40.0)))

    def full_disk(self, random: Random) -> None:
        """Nothing can be written for a while. With PostgreSQL the disk is not the server's own."""
        name = random.choice(SERVERS)
        self.again(name, largest=8192)
        time.sleep(0.5)
        self.again(name)

    def cut_off(self, random: Random) -> None:
        """The database drops every connection, and so does one that is restarted."""
        assert self.database is not None
        name = self.storage.rsplit("/", 1)[1].split("?")[0]
        with psycopg.connect(self.database.address("postgres"), autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    @property
    def troubles(self) -> list[Callable[[Random], None]]:
        usual = [self.killed, self.both_killed, self.stopped, self.wrong_clock]
        return [*usual, self.full_disk if self.database is None else self.cut_off]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(params=["sqlite", "postgresql"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    def with_(storage: str, database: Postgres | None) -> Iterator[Cluster]:
        made = Cluster(tmp_path, storage, database)
        try:
            yield made
        finally:
            made.nursery.close()

    if request.param == "sqlite":
        yield from with_(f"sqlite:///{tmp_path / 'bestarm.db'}", None)
    else:
        with postgres(durable=False) as database:
            yield from with_(database.database(), database)


@pytest.mark.slow
def test_every_history_fits_the_model(cluster: Cluster) -> None:
    admin = Connection(cluster.urls[0], cluster.token.read_text().strip())
    # One study that does not end, and one that does under way.
    problems = [
        Problem(["A", "B", "C"], name="long", sigma=0.3, delta=1e-9, sites="alike"),
        Problem(["A", "B", "C"], name="short", sigma=0.3, delta=0.3, epsilon=0.6, sites="alike"),
    ]
    clerks: dict[str, list[Clerk]] = {}
    for problem in problems:
        body = {"problem": problem.to_dict(), "method": "sharp", "agents": AGENTS, "parameters": {}}
        admin.call("POST", "/v1/studies", body)
        clerks[problem.name] = []
        for number in range(AGENTS // 2):
            wanted = {"role": "agent", "agent": f"site-{number}"}
            token = admin.call("POST", f"/v1/studies/{problem.name}/tokens", wanted)["token"]
            clerks[problem.name].append(
                Clerk(problem.name, problem, f"site-{number}", token, cluster.urls, number)
            )
    everybody = [clerk for group in clerks.values() for clerk in group]
    for clerk in everybody:
        clerk.start()
    random = Random(7)
    begun = [trouble for _ in range(ROUNDS) for trouble in cluster.troubles][
        : max(ROUNDS, len(cluster.troubles))
    ]
    random.shuffle(begun)
    for trouble in begun:
        time.sleep(random.uniform(0.1, 0.6))
        trouble(random)
    time.sleep(0.5)
    for clerk in everybody:
        clerk.enough.set()
    for clerk in everybody:
        clerk.join(60)
        assert not clerk.is_alive()
    for name, group in clerks.items():
        check(group, exported(admin, name))
        assert sum(len(clerk.sent) for clerk in group) > 3 * ROUNDS
        assert sum(len(clerk.looked) for clerk in group) > 0
    admin.close()
    note(cluster.nursery.kills, sum(clerk.acknowledged for clerk in everybody))
    assert sum(clerk.lost for clerk in everybody) > 0
    assert threading.active_count() < 20


def exported(admin: Connection, study: str) -> dict[str, object]:
    """The log, once the server can be reached again."""
    deadline = time.monotonic() + 30
    while True:
        with suppress(ServiceError):
            return admin.call("GET", f"/v1/studies/{study}/export?format=json")
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("lie", ["lost", "twice", "changed", "moved", "verdict"])
def test_a_log_that_does_not_fit_is_noticed(lie: str) -> None:
    """The model has teeth: each kind of lie about a history is found."""
    problem = Problem(["A", "B", "C"], name="long", sigma=0.3, sites="alike")
    clerk = Clerk("long", problem, "site-0", "x", [], 0)
    rows = []
    for number in range(1, 4):
        tally = {"A": [2, 1.0 + number / 8], "B": [1, 0.5], "C": [1, 0.25]}
        answer = {"position": number, "reply": {"plan": [["A", number]]}}
        clerk.sent.append(Sent("site-0", number, tally, 2.0 * number, 2.0 * number + 1, [answer]))
        rows.append({"agent": "site-0", "sequence": number, "tally": tally, "position": number})
    export = {
        "problem": problem.to_dict(),
        "method": "sharp",
        "agents": 2,
        "parameters": {},
        "uploads": rows,
        "verdict": {},
    }
    export["verdict"] = verdict_to_json(replay(export).verdict)
    check([clerk], export)
    if lie == "lost":
        rows.pop()
    elif lie == "twice":
        rows.append(rows[-1] | {"position": 4})
    elif lie == "changed":
        rows[1] = rows[1] | {"tally": {"A": [2, 1.0], "B": [1, 0.5], "C": [1, 0.25]}}
    elif lie == "moved":
        rows[0], rows[1] = rows[1] | {"position": 1}, rows[0] | {"position": 2}
    else:
        export["verdict"] = verdict_to_json(Server(replay(export).method).verdict)
    with pytest.raises((AssertionError, KeyError)):
        check([clerk], export)
