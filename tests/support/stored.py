"""A study in a storage: made, fed, looked at, held up, and checked against its own log."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from uploads import small_problem

import bestarm
from bestarm.protocol.entries import Upload
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter, Overview

PROBLEM = small_problem()


def create(storage: Storage, problem: bestarm.Problem = PROBLEM, method: str = "sharp") -> Charter:
    return storage.create(bestarm.method(method, problem, agents=4)).result().study


def send(storage: Storage, study: Charter, *uploads: Upload) -> list[Any]:
    return [storage.take(study, upload).result() for upload in uploads]


def look(storage: Storage, study: Charter) -> Overview:
    return storage.look(study).result()


def log_of(overview: Overview) -> list[Upload]:
    """The uploads of a study, from the storage that it was looked at in."""
    assert isinstance(overview.source, Storage)
    return list(overview.source.uploads(overview))


def assert_replays(overview: Overview) -> None:
    """The log, from nothing, gives what the overview says, bit for bit."""
    log = log_of(overview)
    replayed = Server.replay(overview.study.method, log)
    assert len(replayed.log) == overview.uploads
    assert replayed.total == overview.total
    assert replayed.verdict == replace(overview.verdict, reason=replayed.verdict.reason)  # or it was closed
    assert [entry.position for entry in overview.history] == list(range(1, overview.uploads + 1))
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
