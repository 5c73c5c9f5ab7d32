"""The database fails, before or after a commit: only what is in the log is told, and it counts once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy.exc import OperationalError
from stored import PROBLEM, assert_replays, create, look, pause, send
from uploads import batch

from bestarm.errors import Refused
from bestarm.protocol.entries import Join
from bestarm.service.storage import Storage

LOST = OperationalError("COMMIT", {}, Exception("the connection was lost"))


@contextmanager
def commits_that_fail(storage: Storage, times: int, *, after: bool, spare: int = 0) -> Iterator[None]:
    """The next transactions but `spare` fail; `after` they were committed, so that only the news is lost."""
    dialect = storage.engine.dialect
    real, calls = dialect.do_commit, itertools.count()

    def failing(connection: Any) -> None:
        if not spare <= next(calls) < spare + times:
            real(connection)
            return
        if after:
            real(connection)
        raise LOST

    with patch.object(dialect, "do_commit", failing):
        yield


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_fails_once_is_done_again(storage: Storage, after: bool) -> None:
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    with commits_that_fail(storage, 1, after=after):
        with pause(storage):
            pass
        answers = [storage.take(study, batch(PROBLEM, agent, 1)) for agent in ("lab-b", "lab-c")]
        assert [answer.result().position for answer in answers] == [2, 3]
    snapshot = look(storage, study)
    assert snapshot.uploads == 3
    assert_replays(snapshot)


@pytest.mark.parametrize("after", [False, True])
def test_an_upload_whose_commit_fails_is_not_answered_and_can_be_sent_again(opened: Any, after: bool) -> None:
    storage = opened()
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    with commits_that_fail(storage, 2, after=after):
        with pytest.raises(Refused) as refusal:
            send(storage, study, batch(PROBLEM, "lab-a", 2))
        assert (refusal.value.code, refusal.value.status) == ("storage", 503)
    (answer,) = send(storage, study, batch(PROBLEM, "lab-a", 2))
    assert answer.position == 2
    assert answer.new is not after
    for source in (storage, opened()):
        snapshot = look(source, study)
        assert snapshot.uploads == 2
        assert_replays(snapshot)


def test_a_reader_never_sees_what_was_not_committed(storage: Storage) -> None:
    study = create(storage)
    with pause(storage):
        upload = storage.take(study, batch(PROBLEM, "lab-a", 1))
        seen = storage.look(study)
        joined = storage.join(study, Join("lab-b"))
        failing = commits_that_fail(storage, 2, after=False, spare=1)  # the pause itself is committed
        failing.__enter__()
    for future in (upload, seen, joined):
        with pytest.raises(Refused, match="can't be reached"):
            future.result()
    failing.__exit__(None, None, None)
    assert look(storage, study).uploads == 0
