"""What the length of a log costs: a start, a reconnect, a second server, a repeat; and how much memory.

    python benchmarks/scale_log.py                                 # both studies, both storages
    python benchmarks/scale_log.py --uploads 20000 --storages sqlite --studies long

Two studies are written by a storage in this process, many uploads together: a long one (3 arms) and a wide one
(10,000 arms). Then real servers start on it. `start` (after one that was stopped), `killed` (after one that was
killed) and `second` (beside one that runs) are the seconds from the start of the process until its first upload
is answered, and behind the stroke the CPU seconds that the server has used until then. `empty` is the same with
a study of one upload: what is over it is the log's. `reconnect` is the seconds that an upload takes whose
transaction lost its connection, `repeat` what the first upload costs when it is sent again, and `upload` the
server's time in transactions for one upload, once it runs. `kept` is bytes in the log for an upload.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from long_log import Site, batch, storage_url, write
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from serving import Process, serving

SIZES = {"long": (3, 200_000), "wide": (10_000, 1_000)}
HEAD = (
    "storage     study   arms  uploads     empty s     start s    killed s    second s  reconnect s  repeat ms"
    "  upload ms  kept   MB"
)
Measured = dict[str, float]


def started(stack: ExitStack, url: str, folder: Path, site: Site, found: Measured, name: str) -> Process:
    """A server that has answered an upload, and what that took."""
    began = time.perf_counter()
    server = stack.enter_context(serving("--storage", url, "--rate", "0", folder=folder))
    site.next(server.url)
    found[name] = time.perf_counter() - began
    found[f"{name}_cpu"] = server.cpu_seconds()
    return server


def empty(kind: str, arms: int, folder: Path) -> Measured:
    """A start with next to no log."""
    found: Measured = {}
    with storage_url(kind, folder) as url, ExitStack() as stack:
        storage = Storage(url)
        site = Site(storage, write(storage, "empty", arms, 1), "lab-1")
        storage.close()
        started(stack, url, folder, site, found, "empty")
    return found


def measure(url: str, folder: Path, site: Site) -> Measured:
    """What servers take for a study."""
    found: Measured = {}
    with ExitStack() as stack:
        server = started(stack, url, folder, site, found, "start")
        before = server.metric("commit_seconds_total"), server.metric("commit_tasks_total")
        for _ in range(100):
            site.next(server.url)
        after = server.metric("commit_seconds_total"), server.metric("commit_tasks_total")
        found["upload"] = (after[0] - before[0]) / (after[1] - before[1])
        found["repeat"] = min(site.send(server.url, 1) for _ in range(5))
        started(stack, url, folder, site, found, "second")
        found["memory"] = server.megabytes()
    with ExitStack() as stack:
        server = stack.enter_context(serving("--storage", url, "--rate", "0", folder=folder))
        for _ in range(100):
            site.next(server.url)
        server.stop(signal.SIGKILL)
        started(stack, url, folder, site, found, "killed")
    return found


def reconnect(url: str, study: Charter, agent: str) -> float:
    """An upload to a storage in this process that loses its connection when it would commit."""
    storage = Storage(url)
    try:
        sequence = len(storage.receipts(study, agent, 0, 10**9))
        storage.take(study, batch(study.problem, agent, sequence + 1)).result()
        real = storage.engine.dialect.do_commit

        def lost(connection: object) -> None:
            storage.engine.dialect.do_commit = real
            raise OperationalError("", {}, RuntimeError("the connection was lost"))

        storage.engine.dialect.do_commit = lost
        began = time.perf_counter()
        storage.take(study, batch(study.problem, agent, sequence + 2)).result()
        return time.perf_counter() - began
    finally:
        storage.close()


def size(storage: Storage) -> float:
    """Bytes of the log, as text."""
    query = "SELECT sum(length(body) + coalesce(length(plan), 0) + coalesce(length(said), 0)) FROM entries"
    with storage.engine.connect() as connection:
        return float(connection.execute(text(query)).scalar_one())


def row_of(kind: str, name: str, arms: int, uploads: int) -> dict[str, float | str]:
    """All numbers of one study in one storage."""
    row: dict[str, float | str] = {"storage": kind, "study": name, "arms": arms, "uploads": uploads}
    with tempfile.TemporaryDirectory(prefix="bestarm-scale-", dir=Path.cwd()) as made:
        folder = Path(made)
        row |= empty(kind, arms, folder)
        for file in folder.iterdir():
            file.unlink()
        with storage_url(kind, folder) as url:
            storage = Storage(url)
            study = write(storage, name, arms, uploads)
            row["kept"] = size(storage) / uploads
            site = Site(storage, study, "lab-1")
            storage.close()
            row |= measure(url, folder, site)
            row["reconnect"] = reconnect(url, study, "lab-2")
    return row


def shown(row: dict[str, float | str]) -> str:
    starts = (f"{row[name]:.2f}/{row[f'{name}_cpu']:.2f}" for name in ("empty", "start", "killed", "second"))
    return (
        f"{row['storage']:<11} {row['study']:<5} {row['arms']:>6} {row['uploads']:>8} "
        f"{' '.join(f'{start:>11}' for start in starts)} {row['reconnect']:>12.2f} "
        f"{1000 * float(row['repeat']):>10.1f} {1000 * float(row['upload']):>10.1f} {row['kept']:>5.0f} "
        f"{row['memory']:>4.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uploads", type=int, help="of the long study")
    parser.add_argument("--storages", default="sqlite,postgresql")
    parser.add_argument("--studies", default="long,wide")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()
    rows = []
    if options.format == "table":
        print(HEAD, flush=True)
    for kind in options.storages.split(","):
        for name in options.studies.split(","):
            arms, uploads = SIZES[name]
            rows.append(row_of(kind, name, arms, options.uploads or uploads if name == "long" else uploads))
            if options.format == "table":
                print(shown(rows[-1]), flush=True)
    if options.format == "json":
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
