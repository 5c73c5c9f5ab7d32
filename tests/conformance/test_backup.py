"""A backup that is made while the server works opens as a storage, as `docs/deploy.md` says."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

from postgres import SUPERUSER, Postgres, find_programs
from stored import PROBLEM, assert_replays, create, look, send
from uploads import batch

from bestarm.service.storage import Storage


def busy(storage: Storage) -> tuple[threading.Thread, threading.Event]:
    """A study that is fed until told to stop, and has some data already."""
    study = create(storage)
    some, enough = threading.Event(), threading.Event()

    def feed() -> None:
        sequence = 0
        while not enough.is_set():
            sequence += 1
            send(storage, study, batch(PROBLEM, "lab-a", sequence, size=1))
            if sequence == 10:
                some.set()

    thread = threading.Thread(target=feed)
    thread.start()
    assert some.wait(20)
    return thread, enough


def check_copy(url: str) -> None:
    copy = Storage(url)
    study = copy.find(PROBLEM.name)
    assert study is not None
    snapshot = look(copy, study)
    assert snapshot.uploads >= 10
    assert_replays(snapshot)
    send(copy, study, batch(PROBLEM, "lab-a", snapshot.uploads + 1, size=1))
    copy.close()


def test_sqlite(tmp_path: Path) -> None:
    storage = Storage(f"sqlite:///{tmp_path / 'bestarm.db'}")
    thread, enough = busy(storage)
    with closing(sqlite3.connect(tmp_path / "bestarm.db")) as source:
        with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            source.backup(copy)
        source.execute("VACUUM INTO ?", [str(tmp_path / "compact.db")])
    enough.set()
    thread.join()
    storage.close()
    check_copy(f"sqlite:///{tmp_path / 'copy.db'}")
    check_copy(f"sqlite:///{tmp_path / 'compact.db'}")


def test_postgresql(cluster: Postgres, tmp_path: Path) -> None:
    storage = Storage(cluster.database())
    thread, enough = busy(storage)
    name = str(storage.engine.url.database)
    where = ["--host", str(cluster.folder), "--username", SUPERUSER]
    dump = str(tmp_path / "bestarm.dump")
    programs = find_programs()
    subprocess.run([str(programs / "pg_dump"), *where, "--format=custom", f"--file={dump}", name], check=True)
    enough.set()
    thread.join()
    storage.close()
    url = cluster.database()
    restore = [str(programs / "pg_restore"), *where, "--clean", "--if-exists"]
    subprocess.run([*restore, f"--dbname={url.partition('@/')[2].partition('?')[0]}", dump], check=True)
    check_copy(url)
