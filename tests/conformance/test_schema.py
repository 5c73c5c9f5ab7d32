"""The tables have a version: an older one is brought up to date, an unknown one is refused in a sentence."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from stored import PROBLEM, create, look, send
from uploads import batch

from bestarm.errors import ServiceError, UserError
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.database import Pen, open_engine
from bestarm.service.storage.rows.schema import STEPS, VERSION, prepare, recorded, version_of
from bestarm.service.storage.rows.tables import metadata, schema

STEP = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = {revision!r}, {before!r}


def upgrade():
    {what}
"""


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A folder of steps that has two more: one makes a table, the next fills it."""
    folder = tmp_path / "migrations"
    shutil.copytree(STEPS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    steps = [
        ("next", VERSION, 'op.create_table("notes", sa.Column("note", sa.String(20)))'),
        ("last", "next", "op.execute(\"INSERT INTO notes VALUES ('added')\")"),
        ("broken", "last", 'op.execute("CREATE TABLE half (n INTEGER)"); raise RuntimeError("half way")'),
    ]
    for revision, before, what in steps:
        step = STEP.format(revision=revision, before=before, what=what)
        (folder / "versions" / f"{revision}.py").write_text(step)
    return folder


def prepare_as(url: str, *arguments: Any) -> None:
    engine = open_engine(url)
    try:
        with closing(Pen(engine)) as pen, pen.transaction() as connection:
            prepare(connection, *arguments)
    finally:
        engine.dispose()


def found(storage: Storage) -> str | None:
    with storage.engine.connect() as connection:
        return version_of(connection)


def test_the_steps_lead_to_the_tables(storage: Storage) -> None:
    assert ScriptDirectory(str(STEPS)).get_current_head() == VERSION == found(storage)
    with storage.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("version", [str(int(VERSION) + 1), "0", "somebody-elses"])
def test_a_storage_that_is_not_known_is_refused_and_left_alone(opened: Any, version: str) -> None:
    storage = opened()
    with storage.engine.begin() as connection:
        connection.execute(recorded.update().values(version_num=version))
    with pytest.raises(UserError, match=f"version {version}, and this bestarm knows version {VERSION}"):
        opened()
    assert found(storage) == version


@pytest.mark.parametrize("alone", [False, True])
def test_a_storage_without_the_row_of_its_version_is_refused_and_left_alone(opened: Any, alone: bool) -> None:
    """`alone`: as version 0.1 left it, without Alembic's table."""
    storage = opened()
    create(storage)
    with storage.engine.begin() as connection:
        connection.execute(recorded.delete())
        if alone:
            connection.execute(text(f"DROP TABLE {recorded.name}"))
            connection.execute(schema.delete())
    with pytest.raises(UserError, match=r"should have a row .* and has none; restore a backup\."):
        opened()
    with storage.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM studies")).scalar() == 1


def test_version_0_1_is_told_that_the_storage_is_newer(storage: Storage) -> None:
    """It reads this number, knows those up to 2, and refuses the others in a sentence."""
    with storage.engine.connect() as connection:
        assert connection.execute(schema.select()).scalar_one() == 3


def test_an_older_storage_is_brought_up_to_date(opened: Any, url: str, later: Path) -> None:
    storage = opened()
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    prepare_as(url, later, "last")
    prepare_as(url, later, "last")  # nothing is left to do
    assert found(storage) == "last"
    with storage.engine.connect() as connection:
        assert connection.execute(text("SELECT note FROM notes")).scalars().all() == ["added"]
    assert look(storage, study).uploads == 1


def test_a_step_that_fails_leaves_the_storage_as_it_was(opened: Any, url: str, later: Path) -> None:
    storage = opened()
    with pytest.raises(RuntimeError, match="half way"):
        prepare_as(url, later, "broken")
    assert found(storage) == VERSION
    with storage.engine.connect() as connection:
        tables = inspect(connection)
        assert not any(tables.has_table(name) for name in ("notes", "half"))


def test_servers_that_open_an_empty_database_at_once_do_not_collide(url: str) -> None:
    storages: list[Storage] = []
    failures: list[BaseException] = []

    def open_one() -> None:
        try:
            storages.append(Storage(url))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert {found(storage) for storage in storages} == {VERSION}
    for storage in storages:
        storage.close()


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
