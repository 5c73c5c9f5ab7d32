"""How many uploads a second the server takes, beside what the machine's disk allows, and what idle agents cost.

    python benchmarks/load.py                     # both storages, 1, 16 and 64 clients, 1,000 idle streams
    python benchmarks/load.py --seconds 1 --clients 16 --storages sqlite --streams 0

An upload is answered after its commit, and a commit waits for the disk. So the floor, measured in the same run
on the same disk, is how many bare rows a loop can insert and commit one after the other, in the same database
and with the same settings for durability. `ratio` is uploads a second over that floor: with one client it can't
be more than 1; with many, commits are shared. `cpu ms` is the server's own CPU time for an upload: where the
disk commits faster than that, the server is what limits. `together` is how many uploads shared a commit.
Everything runs on this machine, over the loopback interface.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlsplit

import psycopg

from bestarm.problem import Problem
from bestarm.protocol.version import HEADER, VERSION

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from postgres import postgres
from serving import Process, serving

MOST_UPLOADS = 20_000  # of one client in one measurement
ROW = "x" * 150  # about as long as an upload
PROBLEM = Problem(["A", "B", "C", "D", "E"], sigma=0.3, delta=0.05, epsilon=0.0, name="load", sites="alike")
SAME = {arm: [2, 1.0] for arm in PROBLEM.arms}  # all arms alike, so that the study never stops
UNLIMITED = ("--rate", "0", "--max-connections", "8000")  # all clients have one address here


class Client:
    """One keep-alive connection that speaks just enough HTTP to cost the machine little."""

    def __init__(self, url: str, token: str) -> None:
        self.address = urlsplit(url)
        self.head = f"Host: {self.address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        self.head += f"{HEADER}: {VERSION}\r\n"

    async def open(self) -> None:
        host, port = self.address.hostname, self.address.port
        self.reader, self.writer = await asyncio.open_connection(host, port)

    async def call(self, method: str, path: str, body: object) -> dict[str, object]:
        content = json.dumps(body)
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(content)}\r\n\r\n{content}".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer: dict[str, object] = json.loads(await self.reader.readexactly(length))
        if head[9:10] != b"2":
            raise RuntimeError(f"{method} {path}: {answer}")
        return answer

    async def follow(self, path: str) -> None:
        """Open a stream, and read until it is under way."""
        self.writer.write(f"GET {path} HTTP/1.1\r\n{self.head}\r\n".encode())
        await self.reader.readuntil(b": following")

    def close(self) -> None:
        self.writer.close()


async def tokens(url: str, admin: str, study: str, agents: list[str]) -> list[str]:
    """A token for every agent, sixteen at a time."""
    made: dict[str, str] = {}
    waiting = list(reversed(agents))

    async def make() -> None:
        client = Client(url, admin)
        await client.open()
        while waiting:
            agent = waiting.pop()
            body = {"role": "agent", "agent": agent}
            made[agent] = str((await client.call("POST", f"/v1/studies/{study}/tokens", body))["token"])
        client.close()

    await asyncio.gather(*(make() for _ in range(16)))
    return [made[agent] for agent in agents]


async def upload_for(url: str, admin: str, study: str, clients: int, seconds: float) -> list[float]:
    """The latency of every upload of so many agents, each of which sends the next when it has its answer."""
    problem = Problem.from_dict(PROBLEM.to_dict() | {"name": study})
    creator = Client(url, admin)
    await creator.open()
    await creator.call("POST", "/v1/studies", {"problem": problem.to_dict(), "agents": clients})
    creator.close()
    names = [f"agent-{k}" for k in range(clients)]
    labs = [Client(url, token) for token in await tokens(url, admin, study, names)]
    latencies: list[float] = []
    path = f"/v1/studies/{study}/uploads"

    async def work(name: str, lab: Client) -> None:
        await lab.open()
        for sequence in range(1, MOST_UPLOADS):
            body = {"problem": problem.fingerprint, "agent": name, "sequence": sequence, "tally": SAME}
            began = time.perf_counter()
            await lab.call("POST", path, body)
            ended = time.perf_counter()
            if ended > deadline:
                break
            latencies.append(ended - began)
        lab.close()

    deadline = time.perf_counter() + seconds
    await asyncio.gather(*(work(name, lab) for name, lab in zip(names, labs, strict=True)))
    return latencies


async def idle(url: str, admin: str, streams: int) -> list[Client]:
    """So many agents that follow a study in which nothing happens."""
    creator = Client(url, admin)
    await creator.open()
    await creator.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": streams})
    creator.close()
    names = [f"agent-{k}" for k in range(streams)]
    labs = [Client(url, token) for token in await tokens(url, admin, PROBLEM.name, names)]
    for lab in labs:
        await lab.open()
        await lab.follow(f"/v1/studies/{PROBLEM.name}/events")
    return labs


def sqlite_floor(folder: Path, seconds: float) -> float:
    """Bare durable commits a second in SQLite."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (text) VALUES (?)", (ROW,))
        connection.execute("COMMIT")
        count += 1
    rate = count / (time.perf_counter() - began)
    connection.close()
    return rate


def postgresql_floor(address: str, seconds: float) -> float:
    """Bare durable commits a second in PostgreSQL."""
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE rows (id SERIAL PRIMARY KEY, text TEXT)")
        connection.commit()
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            connection.execute("INSERT INTO rows (text) VALUES (%s)", (ROW,))
            connection.commit()
            count += 1
        return count / (time.perf_counter() - began)


def shared(server: Process) -> tuple[float, float]:
    """How many transactions the server has made, and how many requests were in them."""
    return server.metric("commits_total"), server.metric("commit_tasks_total")


@contextmanager
def storages(wanted: list[str], folder: Path, seconds: float) -> Iterator[Iterator[tuple[str, str, float]]]:
    """Each storage's name, its URL and its floor."""

    def each() -> Iterator[tuple[str, str, float]]:
        if "sqlite" in wanted:
            yield "sqlite", f"sqlite:///{folder / 'load.db'}", sqlite_floor(folder, seconds)
        if "postgresql" in wanted:
            with postgres(durable=True) as cluster:
                floor = postgresql_floor(cluster.address("postgres"), seconds)
                yield "postgresql", cluster.database(), floor

    yield each()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--storages", default="sqlite,postgresql")
    parser.add_argument("--streams", type=int, default=1000, help="idle agents that follow a study; 0 is none")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    rows = []
    with tempfile.TemporaryDirectory(prefix="bestarm-load-", dir=Path.cwd()) as name:
        folder = Path(name)
        if options.format == "table":
            print("storage     clients  uploads/s  commits/s bare  ratio  p50 ms  p99 ms  cpu ms  together")
        with storages(options.storages.split(","), folder, options.seconds) as each:
            for storage, url, floor in each:
                with serving("--storage", url, *UNLIMITED, folder=folder) as server:
                    for clients in map(int, options.clients.split(",")):
                        study = f"load-{clients}"
                        work = upload_for(server.url, server.admin_token, study, clients, options.seconds)
                        used, (commits, tasks) = server.cpu_seconds(), shared(server)
                        latencies = asyncio.run(work)
                        used, after = server.cpu_seconds() - used, shared(server)
                        rate = len(latencies) / options.seconds
                        cuts = quantiles(latencies, n=100)
                        row = {
                            "storage": storage,
                            "clients": clients,
                            "uploads_per_second": rate,
                            "floor": floor,
                            "ratio": rate / floor,
                            "p50_ms": 1000 * cuts[49],
                            "p99_ms": 1000 * cuts[98],
                            "cpu_ms": 1000 * used / len(latencies),
                            "together": (after[1] - tasks) / (after[0] - commits),
                        }
                        rows.append(row)
                        if options.format == "table":
                            print(
                                f"{storage:<11} {clients:>7} {rate:>10.0f} {floor:>15.0f} {rate / floor:>6.2f} "
                                f"{row['p50_ms']:>7.1f} {row['p99_ms']:>7.1f} {row['cpu_ms']:>7.2f} "
                                f"{row['together']:>9.1f}",
                                flush=True,
                            )
        found = {"uploads": rows}
        if options.streams:
            url = f"sqlite:///{folder / 'idle.db'}"
            with serving("--storage", url, *UNLIMITED, folder=folder) as server:
                before = server.megabytes()

                async def measure() -> float:
                    labs = await idle(server.url, server.admin_token, options.streams)
                    await asyncio.sleep(0.5)
                    after = server.megabytes()
                    for lab in labs:
                        lab.close()
                    return after

                after = asyncio.run(measure())
            found["memory"] = {"streams": options.streams, "before_mb": before, "after_mb": after}
            if options.format == "table":
                print(f"{options.streams} idle streams: {before:.0f} MB before, {after:.0f} MB with them")
        if options.format == "json":
            print(json.dumps(found))


if __name__ == "__main__":
    main()
