"""Attacks on real servers, with numbers: what each of them did to version 0.1, and what it does now.

    python benchmarks/attacks.py                                  # all of them, a log of 200,000 uploads
    python benchmarks/attacks.py --only restart,stopped --uploads 20000

`restart`: PostgreSQL is away for 0.2 s under two busy servers. `stopped`: one of two busy servers is stopped
(SIGSTOP) again and again, until three stops have left a transaction open, which mostly holds the lock of the
study. `second`: a server starts beside a busy one, on SQLite. `repeats`: sixty old uploads are sent again at
once. `dripping`: a thousand connections without a token go on sending bodies that nobody wants. `slow` and
`unread`: forty exports, read slowly and never. A wait is how long a site waits for the answer to an upload,
tries that were refused or cut off included; those that are still waiting count with what they have waited.
"""

from __future__ import annotations

import argparse
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from long_log import Site, write

from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import Grant, Role
from bestarm.service.storage.study.overview import Charter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from postgres import Postgres, postgres
from serving import Process, serving
from sockets import connect, head

WINDOW = 10.0  # seconds before, during and after
BUSY = 4  # sites on each server
ADDRESSES = [f"127.0.0.{k}" for k in range(2, 12)]
FOUND = {
    "restart": "132 uploads in 10 s before, 3 in 210 s after",
    "stopped": "the other blocked for 30 s",
    "second": "both without end, as after a restart",
    "repeats": "another study waits 23 s",
    "dripping": "everybody shut out",
    "slow": "uploads wait 98 s",
    "unread": "3.5 GB held",
}


@dataclass
class Stage:
    """A long study and a short one in a storage, and a folder for servers."""

    url: str
    folder: Path
    long: Charter
    short: Charter
    storage: Storage
    cluster: Postgres | None = None

    def server(self, stack: ExitStack, first: Site | None = None) -> Process:
        """A server that has answered an upload, of a site that may be there before: that takes a while."""
        made = stack.enter_context(serving("--storage", self.url, "--rate", "0", folder=self.folder))
        (first or self.site(0)).next(made.url)
        return made

    def site(self, number: int) -> Site:
        return Site(self.storage, self.long, f"lab-{number}")


class Load:
    """Sites that upload as fast as they are answered, and when they were, and how long they waited."""

    def __init__(self, sites: list[tuple[Site, str]]) -> None:
        self.answered: list[tuple[float, float]] = []
        self._since = dict.fromkeys(range(len(sites)), float("inf"))
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(number, *one)) for number, one in enumerate(sites)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int, site: Site, url: str) -> None:
        while not self._enough.is_set():
            self._since[number] = time.perf_counter()
            wait = site.next(url)
            self.answered.append((time.perf_counter(), wait))

    def count(self, since: float, until: float) -> int:
        """Uploads that were answered between two moments."""
        return sum(since <= moment < until for moment, _ in self.answered)

    def slowest(self, since: float) -> float:
        """The longest wait of those that were answered since then, or still wait."""
        now = time.perf_counter()
        waits = [wait for moment, wait in self.answered if moment >= since]
        return max([*waits, *(now - began for began in self._since.values())])


def watched(load: Load, attack: Callable[[], object]) -> tuple[str, float]:
    """Uploads in ten seconds before, from the attack on, and after; and the longest wait."""
    time.sleep(1)
    start = time.perf_counter()
    time.sleep(WINDOW)
    hit = time.perf_counter()
    attack()
    time.sleep(max(hit + 2 * WINDOW - time.perf_counter(), 0))
    counts = [load.count(at, at + WINDOW) for at in (start, hit, hit + WINDOW)]
    return "{} uploads in 10 s before, {} from then on, {} after that".format(*counts), load.slowest(hit)


def restart(stage: Stage) -> str:
    def blip() -> None:
        assert stage.cluster is not None
        stage.cluster.stop()
        time.sleep(0.2)
        stage.cluster.start()

    with ExitStack() as stack:
        servers = [stage.server(stack) for _ in range(2)]
        sites = [(stage.site(number), servers[number % 2].url) for number in range(1, 2 * BUSY + 1)]
        counts, slowest = watched(stack.enter_context(Load(sites)), blip)
        return f"{counts}; longest wait {slowest:.1f} s"


def stopped(stage: Stage) -> str:
    assert stage.cluster is not None
    query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
    with ExitStack() as stack:
        first, other = (stage.server(stack) for _ in range(2))
        sites = {
            server: [stage.site(k + BUSY * n) for k in range(1, BUSY + 1)]
            for n, server in enumerate((first, other))
        }
        database = stack.enter_context(psycopg.connect(stage.cluster.address("postgres"), autocommit=True))
        stack.enter_context(Load([(site, first.url) for site in sites[first]]))
        load = stack.enter_context(Load([(site, other.url) for site in sites[other]]))
        time.sleep(2)
        slowest, held = [], 0
        while held < 3:
            hit = time.perf_counter()
            first.process.send_signal(signal.SIGSTOP)
            try:
                time.sleep(0.5)  # the other goes on or waits: who is inside of a transaction now stays there
                if database.execute(query).fetchone() == (0,):
                    continue
                held += 1
                time.sleep(8)
                slowest.append(load.slowest(hit))
            finally:
                first.process.send_signal(signal.SIGCONT)
                time.sleep(0.2)
        return f"stopped {held} times with a transaction open: the other's longest waits {shown(slowest)} s"


def second(stage: Stage) -> str:
    with ExitStack() as stack:
        server, first = stage.server(stack), stage.site(BUSY + 1)
        load = stack.enter_context(Load([(stage.site(number), server.url) for number in range(1, BUSY + 1)]))
        took: list[float] = []

        def beside() -> None:
            began = time.perf_counter()
            stage.server(stack, first)
            took.append(time.perf_counter() - began)

        counts, slowest = watched(load, beside)
        return f"{counts}; longest wait {slowest:.1f} s; the second has answered after {took[0]:.1f} s"


def repeats(stage: Stage) -> str:
    with ExitStack() as stack:
        server = stage.server(stack)
        other = Site(stage.storage, stage.short, "lab-1")
        labs, quiet = [stage.site(k) for k in range(1, 16)], min(other.next(server.url) for _ in range(5))
        threads = [
            threading.Thread(target=lab.send, args=(server.url, 1 + k)) for lab in labs for k in range(4)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        wait = other.next(server.url)
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        waits = f"another study waits {wait:.2f} s ({quiet:.2f} s without them)"
        return f"{len(threads)} repeats in {took:.2f} s; {waits}"


def dripping(stage: Stage) -> str:
    with ExitStack() as stack:
        server = stage.server(stack)
        load = stack.enter_context(Load([(stage.site(1), server.url)]))
        sources = [ADDRESSES[k % len(ADDRESSES)] for k in range(1000)]
        hit = time.perf_counter()
        callers = [stack.enter_context(connect(server.url, source)) for source in sources]
        request = head("POST /v1/studies/long/uploads", Content_Length="100000")
        drip(callers, request)
        while time.perf_counter() < hit + 2 * WINDOW:
            drip(callers, b"a")
            time.sleep(0.2)
        count = load.count(hit, hit + 2 * WINDOW)
        left = server.metric("connections") - 2  # the site's, and the one that asks
        slowest = load.slowest(hit)
        waits = f"a site is answered {count} times in 20 s, longest wait {slowest:.2f} s"
        return f"{waits}; {left:.0f} of 1,000 are left"


def drip(callers: list[socket.socket], what: bytes) -> None:
    for caller in callers:
        with suppress(OSError):
            caller.sendall(what)


def exports(stage: Stage, read: Callable[[list[socket.socket]], object]) -> str:
    """Forty exports of viewers with ten tokens and addresses, so that as many are made as may be."""
    with ExitStack() as stack:
        server = stage.server(stack)
        load = stack.enter_context(Load([(stage.site(number), server.url) for number in (1, 2)]))
        tokens = [
            stage.storage.grant(Grant(Role.VIEWER), stage.long, "benchmark").result()[0] for _ in ADDRESSES
        ]
        before, hit = server.megabytes(), time.perf_counter()
        readers = []
        for number in range(40):
            place = number % len(ADDRESSES)
            readers.append(stack.enter_context(connect(server.url, ADDRESSES[place], window=65_536)))
            readers[-1].sendall(head("GET /v1/studies/long/export", tokens[place]))
        most = 0.0
        while time.perf_counter() < hit + 2 * WINDOW:
            read(readers)
            time.sleep(0.1)
            most = max(most, server.megabytes())
        under_way, slowest = server.metric("exports"), load.slowest(hit)
        count = load.count(hit, hit + 2 * WINDOW)
        return (
            f"{count} uploads in 20 s, longest wait {slowest:.1f} s; "
            f"{before:.0f} MB before, {most:.0f} MB at most; {under_way:.0f} under way after 20 s"
        )


def slow(stage: Stage) -> str:
    def little(readers: list[socket.socket]) -> None:
        for reader in readers:
            reader.setblocking(False)
            with suppress(OSError):
                reader.recv(20_000)

    return exports(stage, little)


def unread(stage: Stage) -> str:
    return exports(stage, lambda readers: None)


ATTACKS = {
    "postgresql": [restart, stopped],
    "sqlite": [second, repeats, dripping, slow, unread],
}


def shown(numbers: list[float]) -> str:
    return ", ".join(f"{number:.1f}" for number in numbers)


@contextmanager
def stage(kind: str, uploads: int) -> Iterator[Stage]:
    """A storage with a log of so many uploads."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bestarm-attacks-", dir=Path.cwd()))
        )
        cluster = stack.enter_context(postgres(durable=True)) if kind == "postgresql" else None
        url = f"sqlite:///{folder / 'attacked.db'}" if cluster is None else cluster.database()
        storage = Storage(url)
        stack.callback(storage.close)
        yield Stage(
            url, folder, write(storage, "long", 3, uploads), write(storage, "short", 3, 10), storage, cluster
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uploads", type=int, default=200_000, help="in the log")
    parser.add_argument("--only", default=",".join(FOUND), help="attacks, by name")
    options = parser.parse_args()
    wanted = options.only.split(",")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("| attack | version 0.1 | now |\n|---|---|---|", flush=True)
    for kind, attacks in ATTACKS.items():
        chosen = [attack for attack in attacks if attack.__name__ in wanted]
        if chosen:
            with stage(kind, options.uploads) as made:
                for attack in chosen:
                    name = attack.__name__
                    print(f"| `{name}` | {FOUND[name]} | {attack(made)} |", flush=True)


if __name__ == "__main__":
    main()
