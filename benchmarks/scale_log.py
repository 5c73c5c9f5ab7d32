"""What the length of a log costs: a start, a reconnect, a second server, a repeat; and how much memory.

    python benchmarks/scale_log.py                                 # both studies, both storages
    python benchmarks/scale_log.py --uploads 20000 --storages sqlite --studies long

Two studies are written by a storage in this process, many uploads together: a long one (3 arms) and a wide one
(10,000 arms). Then real servers start on it. `start` and `second` (beside one that runs) are seconds from the
start of the process until its first upload is answered, `empty` the same with a study that has no log yet.
`reconnect` is the seconds that an upload takes whose transaction lost its connection, `repeat` what the first
upload costs when it is sent again, and `upload` the server's time in transactions for one upload, once it runs.
`kept` is bytes in the log for an upload.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Upload
from bestarm.protocol.version import HEADER, VERSION
from bestarm.service.storage import Storage
from bestarm.service.storage.overview import Charter
from bestarm.service.storage.tokens import Grant, Role

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from postgres import postgres
from serving import Process, serving

SITES = 16
TOGETHER = 2_000  # uploads that are under way at a time
SIZES = {"long": (3, 200_000), "wide": (10_000, 1_000)}


def problem(name: str, arms: int) -> bestarm.Problem:
    return bestarm.Problem([f"arm-{k}" for k in range(arms)], sigma=0.3, name=name)


def batch(about: bestarm.Problem, agent: str, sequence: int, chance: random.Random) -> Upload:
    """All arms alike, so that no study stops; of many arms few."""
    several = chance.sample(range(about.K), min(about.K, 5))
    rows = {arm: (2, 2 * chance.gauss(0.5, 0.2)) for arm in several}
    return Upload(about.fingerprint, agent, sequence, Tally.from_rows(rows, about.K))


def write(storage: Storage, name: str, arms: int, uploads: int) -> Charter:
    """A study with so many uploads, and progress on stderr."""
    about, chance = problem(name, arms), random.Random(7)
    study = storage.create(bestarm.method("sharp", about, SITES)).result().study
    first = Upload(about.fingerprint, "lab-0", 1, Tally.of([2] * arms, [1.0] * arms))
    waiting = [storage.take(study, first)]
    sent = dict.fromkeys((f"lab-{k}" for k in range(SITES)), 0) | {"lab-0": 1}
    for number in range(1, uploads):
        agent = f"lab-{number % SITES}"
        sent[agent] += 1
        waiting.append(storage.take(study, batch(about, agent, sent[agent], chance)))
        if len(waiting) >= TOGETHER:
            for one in waiting:
                one.result()
            waiting = []
            print(f"\r{name}: {number:,} of {uploads:,}", end="", file=sys.stderr, flush=True)
    for one in waiting:
        one.result()
    print("\r", end="", file=sys.stderr)
    return study


class Site:
    """One that goes on where the log ends."""

    def __init__(self, study: Charter, agent: str, token: str, sequence: int) -> None:
        self.study, self.agent, self.sequence = study, agent, sequence
        self.headers = {"Authorization": f"Bearer {token}", HEADER: str(VERSION)}
        self.chance = random.Random(sequence)

    def send(self, server: Process, upload: Upload) -> float:
        """How long it took until the server answered; one that is loading is asked again."""
        path = f"{server.url}/v1/studies/{self.study.name}/uploads"
        began = time.perf_counter()
        while True:
            body = upload.to_json(self.study.problem.arms)
            answer = httpx.post(path, json=body, headers=self.headers, timeout=60, trust_env=False)
            if answer.status_code == 200:
                return time.perf_counter() - began
            if answer.status_code != 503:
                raise RuntimeError(answer.text)
            time.sleep(0.1)

    def next(self, server: Process) -> float:
        self.sequence += 1
        return self.send(server, batch(self.study.problem, self.agent, self.sequence, self.chance))


def memory(server: Process) -> float:
    """The server's resident memory in megabytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def in_transactions(server: Process) -> tuple[float, float]:
    """Seconds that the server has spent in transactions, and how many tasks were in them."""
    headers = {"Authorization": f"Bearer {server.admin_token}"}
    lines = httpx.get(f"{server.url}/metrics", headers=headers, trust_env=False).text.splitlines()
    value = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    return float(value["bestarm_commit_seconds_total"]), float(value["bestarm_commit_tasks_total"])


def measure(url: str, folder: Path, study: Charter, token: str, sequence: int) -> dict[str, float]:
    """All numbers of one study in one storage."""
    site, found = Site(study, "lab-1", token, sequence), {}
    about = study.problem
    first = Upload(about.fingerprint, "lab-1", 1, batch_of_first(about))
    began = time.perf_counter()
    with serving("--storage", url, "--rate", "0", folder=folder) as server:
        site.next(server)
        found["start"] = time.perf_counter() - began
        before = in_transactions(server)
        for _ in range(100):
            site.next(server)
        after = in_transactions(server)
        found["upload"] = (after[0] - before[0]) / (after[1] - before[1])
        found["repeat"] = min(site.send(server, first) for _ in range(5))
        began = time.perf_counter()
        with serving("--storage", url, "--rate", "0", folder=folder) as second:
            site.next(second)
            found["second"] = time.perf_counter() - began
        found["memory"] = memory(server)
    return found


def batch_of_first(about: bestarm.Problem) -> Tally:
    """What lab-1 sent first, drawn again."""
    return batch(about, "lab-1", 1, random.Random(7)).tally


def reconnect(url: str, study: Charter, sequence: int) -> float:
    """An upload to a storage in this process that loses its connection when it would commit."""
    storage = Storage(url)
    chance = random.Random(sequence)
    try:
        storage.take(study, batch(study.problem, "lab-2", sequence + 1, chance)).result()
        real = storage.engine.dialect.do_commit

        def lost(connection: object) -> None:
            storage.engine.dialect.do_commit = real
            from sqlalchemy.exc import OperationalError

            raise OperationalError("", {}, RuntimeError("the connection was lost"))

        storage.engine.dialect.do_commit = lost
        began = time.perf_counter()
        storage.take(study, batch(study.problem, "lab-2", sequence + 2, chance)).result()
        return time.perf_counter() - began
    finally:
        storage.close()


def size(storage: Storage) -> float:
    """Bytes of the log, as text."""
    from sqlalchemy import text

    query = "SELECT sum(length(body) + coalesce(length(plan), 0) + coalesce(length(said), 0)) FROM entries"
    with storage.engine.connect() as connection:
        return float(connection.execute(text(query)).scalar_one())


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'scale.db'}"
    else:
        with postgres(durable=True) as cluster:
            yield cluster.database()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uploads", type=int, help="of the long study")
    parser.add_argument("--storages", default="sqlite,postgresql")
    parser.add_argument("--studies", default="long,wide")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()
    rows = []
    if options.format == "table":
        print(
            "storage     study    arms  uploads  start s  second s  reconnect s  repeat ms  upload ms  kept  MB"
        )
    for kind in options.storages.split(","):
        for name in options.studies.split(","):
            arms, uploads = SIZES[name]
            uploads = options.uploads if options.uploads and name == "long" else uploads
            with (
                tempfile.TemporaryDirectory(prefix="bestarm-scale-", dir=Path.cwd()) as folder,
                place(kind, Path(folder)) as url,
            ):
                storage = Storage(url)
                study = write(storage, name, arms, uploads)
                token, _ = storage.grant(Grant(Role.AGENT, "lab-1"), study).result()
                kept = size(storage) / uploads
                storage.close()
                last = uploads // SITES
                row: dict[str, float | str] = {"storage": kind, "study": name, "arms": arms, "uploads": uploads}
                row |= measure(url, Path(folder), study, token, last + (uploads % SITES > 1))
                row |= {"reconnect": reconnect(url, study, last + (uploads % SITES > 2)), "kept": kept}
                rows.append(row)
                if options.format == "table":
                    print(
                        f"{kind:<11} {name:<6} {arms:>6} {uploads:>8} {row['start']:>8.2f} "
                        f"{row['second']:>9.2f} {row['reconnect']:>12.2f} {1000 * float(row['repeat']):>10.1f} "
                        f"{1000 * float(row['upload']):>10.1f} {kept:>5.0f} {row['memory']:>3.0f}",
                        flush=True,
                    )
    if options.format == "json":
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
