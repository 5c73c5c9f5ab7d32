"""The tables have a version: an older one is brought up to date, a newer one is refused in a sentence."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text
from stored import PROBLEM, create, look, send
from uploads import batch

from bestarm.errors import Refused, ServiceError, UserError
from bestarm.protocol.entries import Join
from bestarm.service.storage import Storage
from bestarm.service.storage.database import Pen, open_engine
from bestarm.service.storage.tables import VERSION, prepare, schema


def set_version(storage: Storage, version: int) -> None:
    with storage.engine.begin() as connection:
        connection.execute(schema.update().values(version=version))


def found_version(connection: Connection) -> int:
    version: int = connection.execute(schema.select()).scalar_one()
    return version


def test_a_newer_storage_is_refused_and_left_alone(opened: Any) -> None:
    storage = opened()
    set_version(storage, VERSION + 1)
    with pytest.raises(
        UserError, match=f"version {VERSION + 1}, and this bestarm knows versions up to {VERSION}"
    ):
        opened()
    with storage.engine.connect() as connection:
        assert found_version(connection) == VERSION + 1


def test_an_older_storage_without_a_step_is_refused(opened: Any) -> None:
    set_version(opened(), 0)
    with pytest.raises(UserError, match="can't bring version 0"):
        opened()


def test_an_older_storage_is_brought_up_to_date(opened: Any, url: str) -> None:
    """A made-up version 3: two steps, the first of which adds a column. All data stays."""
    storage = opened()
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    notes = Table("notes", MetaData(), Column("note", String(20)))
    steps = {
        VERSION: lambda connection: notes.create(connection),
        VERSION + 1: lambda connection: connection.execute(notes.insert().values(note="added")),
    }
    engine = open_engine(url)
    with closing(Pen(engine)) as pen, pen.transaction() as connection:
        prepare(connection, VERSION + 2, steps)
    with closing(Pen(engine)) as pen, pen.transaction() as connection:
        prepare(connection, VERSION + 2, {})  # nothing is left to do
        assert found_version(connection) == VERSION + 2
        assert connection.execute(notes.select()).scalars().all() == ["added"]
    engine.dispose()
    assert look(storage, study).uploads == 1


def test_a_step_that_fails_leaves_the_storage_as_it_was(opened: Any, url: str) -> None:
    storage = opened()

    def fails(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (note INTEGER)"))
        raise RuntimeError("half way")

    engine = open_engine(url)
    with closing(Pen(engine)) as pen, pytest.raises(RuntimeError), pen.transaction() as connection:
        prepare(connection, VERSION + 1, {VERSION: fails})
    engine.dispose()
    with storage.engine.connect() as connection:
        assert found_version(connection) == VERSION
        assert not inspect(connection).has_table("half")


@pytest.mark.parametrize(
    ("storage_url", "sentence"),
    [
        ("bestarm.db", "it must be sqlite:///file.db or"),
        ("mysql://host/x", "mysql URL"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("sqlite:////nowhere/at/all/x.db", "no folder"),
    ],
)
def test_a_url_that_is_no_storage_gets_a_sentence(storage_url: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Storage(storage_url)


def test_a_database_that_is_away_gets_a_sentence() -> None:
    with pytest.raises(ServiceError, match="can't be opened"):
        Storage("postgresql+psycopg://nobody@127.0.0.1:1/nothing")


def test_version_1_gets_the_column_for_journals(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    storage.join(study, Join("lab-a")).result()
    with storage.engine.begin() as connection:
        connection.execute(text("ALTER TABLE sites DROP COLUMN journal"))
    set_version(storage, 1)
    updated = opened()
    assert updated.join(study, Join("lab-a", "first")).result()[0] == 0
    with pytest.raises(Refused, match="another journal"):
        updated.join(study, Join("lab-a", "second")).result()
