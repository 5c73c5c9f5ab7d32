"""A study in a storage: made, fed, looked at, held up, and checked against its own log."""

from __future__ import annotations

import threading
from typing import Any

from uploads import small_problem

import bestarm
from bestarm.protocol.entries import Upload
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.ledger import Snapshot, Study

PROBLEM = small_problem()


def create(storage: Storage, problem: bestarm.Problem = PROBLEM, method: str = "sharp") -> Study:
    return storage.create(bestarm.method(method, problem, agents=4)).result().study


def send(storage: Storage, study: Study, *uploads: Upload) -> list[Any]:
    return [storage.take(study, upload).result() for upload in uploads]


def look(storage: Storage, study: Study) -> Snapshot:
    return storage.look(study).result()


def assert_replays(snapshot: Snapshot) -> None:
    """The log, from nothing, gives what the snapshot says, bit for bit."""
    log = snapshot.log[: snapshot.uploads]
    replayed = Server.replay(snapshot.study.method, log)
    assert len(replayed.log) == snapshot.uploads
    assert replayed.total == snapshot.total
    assert replayed.verdict == snapshot.verdict
    assert [entry.position for entry in snapshot.entries[: snapshot.uploads]] == list(
        range(1, snapshot.uploads + 1)
    )
    seen: dict[str, int] = {}
    for upload in log:
        assert upload.sequence == seen.get(upload.agent, 0) + 1
        seen[upload.agent] = upload.sequence


class pause:
    """Keeps the writer busy, so that everything asked for meanwhile goes into one transaction."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.started, self.go = storage, threading.Event(), threading.Event()

    def __enter__(self) -> None:
        self.task = self.storage._submit(self.act, None, writes=True)
        assert self.started.wait(5)

    def act(self, work: object) -> None:
        self.started.set()
        self.go.wait(5)

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.task.result()
