"""A database that knows less than the server did, or is away: nothing is made up, and nothing is stuck."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from stored import PROBLEM, assert_replays, create, log_of, look, pause, send
from uploads import batch, small_problem

from bestarm.errors import Refused, ServiceError
from bestarm.protocol.entries import Join
from bestarm.service.storage import Storage


def lose(storage: Storage, after: int) -> None:
    """What a restored backup or a lagging standby does, while the server runs."""
    with storage.engine.begin() as connection:
        connection.execute(text("DELETE FROM entries WHERE position > :after"), {"after": after})


def test_a_log_that_became_shorter_is_read_again(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    send(storage, study, *(batch(PROBLEM, "lab-a", sequence, size=1) for sequence in range(1, 6)))
    lose(storage, 3)
    with pytest.raises(Refused) as refusal:  # the site hears that uploads are gone
        send(storage, study, batch(PROBLEM, "lab-a", 6, size=1))
    assert refusal.value.code == "gap"
    assert storage.join(study, Join("lab-a")).result()[0] == 3
    assert send(storage, study, batch(PROBLEM, "lab-b", 1, size=1))[0].position == 4
    for source in (storage, opened()):
        snapshot = look(source, study)
        assert snapshot.uploads == 4
        assert_replays(snapshot)


def test_a_log_in_which_another_upload_took_the_place_is_read_again(opened: Any) -> None:
    storage, other = opened(), opened()
    study = create(storage)
    send(storage, study, *(batch(PROBLEM, "lab-a", sequence, size=1) for sequence in (1, 2, 3)))
    lose(storage, 2)
    send(other, study, batch(PROBLEM, "lab-b", 1, size=1))
    assert send(storage, study, batch(PROBLEM, "lab-c", 1, size=1))[0].position == 4
    snapshot = look(storage, study)
    assert [upload.agent for upload in log_of(snapshot)] == ["lab-a", "lab-a", "lab-b", "lab-c"]
    assert_replays(snapshot)


def test_a_study_that_is_gone_is_said_to_be_gone_and_holds_up_no_other(opened: Any) -> None:
    storage = opened()
    study, other = create(storage), create(storage, small_problem("others"))
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    with storage.engine.begin() as connection:
        of_study = ("DELETE FROM names WHERE study_id = :study", "DELETE FROM studies WHERE id = :study")
        for query in ("DELETE FROM entries", *of_study):
            connection.execute(text(query), {"study": study.id} if ":study" in query else {})
    with pause(storage):
        lost = storage.take(study, batch(PROBLEM, "lab-a", 2))
        kept = storage.take(other, batch(other.problem, "lab-a", 1))
    with pytest.raises(ServiceError, match="not in the storage any more"):
        lost.result()
    assert kept.result().position == 1


def test_a_study_that_another_server_stops_while_it_is_read_is_not_damaged(opened: Any) -> None:
    """Between the question for the log and the one for the verdict, the stopping upload is committed."""
    storage, other = opened(), opened()
    study = create(storage)
    sequence = 1
    while True:
        snapshot = look(opened(), study)
        upload = batch(PROBLEM, "lab-a", sequence, size=40)
        if snapshot.study.method.verdict(snapshot.total + upload.tally).stopped:
            break
        send(other, study, upload)
        sequence += 1
    late = opened()

    @event.listens_for(late.engine, "after_cursor_execute")
    def stop(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if "FROM entries" in statement and not stopped:
            stopped.append(True)
            if late.engine.dialect.name == "postgresql":  # SQLite's reader sees one state of the file
                send(other, study, upload)

    stopped: list[bool] = []
    assert_replays(look(late, study))
    assert stopped


def test_reads_say_that_the_storage_is_away(storage: Storage) -> None:
    create(storage)

    @event.listens_for(storage.engine, "before_cursor_execute")
    def fail(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        raise OperationalError(statement, {}, Exception("the connection was lost"))

    for read in (
        storage.names,
        lambda: storage.tokens(None),
        lambda: storage.token("x"),
        lambda: storage.find("y"),
    ):
        with pytest.raises(Refused) as refusal:
            read()
        assert (refusal.value.code, refusal.value.status) == ("storage", 503)


def test_reads_that_get_no_connection_say_so_too(storage: Storage) -> None:
    """A database that does not answer holds all that there are."""
    study = create(storage)
    with ExitStack() as stack, patch.object(storage.engine.pool, "_timeout", 0.05):
        with suppress(NoConnection):
            while True:
                stack.enter_context(storage.engine.connect())
        for read in (storage.names, storage.ping, lambda: list(storage.entries(study, 1))):
            with pytest.raises(Refused) as refusal:
                read()
            assert (refusal.value.code, refusal.value.status) == ("storage", 503)
    assert storage.names() == [study.name]


def test_a_database_that_is_damaged_is_a_storage_that_is_away(tmp_path: Path) -> None:
    path = tmp_path / "bestarm.db"
    with closing(Storage(f"sqlite:///{path}")) as storage:
        study = create(storage)
        with storage.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        for attempt in (
            lambda: storage.take(study, batch(PROBLEM, "lab-a", 1)).result(),
            lambda: storage.token("x"),
        ):
            with pytest.raises(Refused) as refusal:
                attempt()
            assert (refusal.value.code, refusal.value.status) == ("storage", 503)


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_nothing_is_taken_into_a_file_that_nobody_will_find_again(tmp_path: Path, how: str) -> None:
    path, aside = tmp_path / "bestarm.db", tmp_path / "aside.db"
    with closing(Storage(f"sqlite:///{path}")) as storage:
        study = create(storage)
        send(storage, study, batch(PROBLEM, "lab-a", 1))
        path.rename(aside)
        if how == "replaced":
            path.write_bytes(aside.read_bytes())
        upload = batch(PROBLEM, "lab-a", 2)
        for attempt in (lambda: storage.take(study, upload).result(), storage.ping):
            with pytest.raises(Refused) as refusal:
                attempt()
            assert (refusal.value.code, refusal.value.status) == ("storage", 503)
        aside.rename(path)
        storage.ping()
        assert storage.take(study, upload).result().position == 2
