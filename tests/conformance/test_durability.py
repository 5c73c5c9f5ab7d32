"""A commit is on disk before anybody is told: each storage is asked whether it is set up that way."""

from __future__ import annotations

import stat
import time
from contextlib import closing, suppress
from pathlib import Path

import psycopg
from postgres import Postgres
from sqlalchemy import text
from stored import PROBLEM, create, look, send
from uploads import batch

from bestarm.service.storage import Storage
from bestarm.service.storage.rows.database import Pen, open_engine


def test_sqlite_waits_for_the_disk_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "bestarm.db"
    storage = Storage(f"sqlite:///{file}")
    with storage.engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    storage.close()


def test_postgresql_waits_for_the_disk_whatever_the_default_is(cluster: Postgres) -> None:
    url = cluster.database()
    name = url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    storage = Storage(url)
    with closing(Pen(storage.engine)) as pen, pen.transaction() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
    storage.close()


def test_a_connection_that_the_database_ends_is_made_again(cluster: Postgres) -> None:
    storage = Storage(cluster.database())
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [storage.engine.url.database],
        )
    time.sleep(0.05)
    (answer,) = send(storage, study, batch(PROBLEM, "lab-a", 2))
    assert answer.position == 2
    assert look(storage, study).uploads == 2
    storage.close()


def test_the_connection_that_writes_is_kept_until_it_fails(url: str) -> None:
    engine = open_engine(url)
    with closing(Pen(engine)) as pen:
        with pen.transaction() as first:
            first.execute(text("CREATE TABLE kept (n INTEGER)"))
        with suppress(RuntimeError), pen.transaction() as again:
            assert again is first
            again.execute(text("INSERT INTO kept VALUES (1)"))
            raise RuntimeError
        with pen.transaction() as another:
            assert another is not first
            assert another.execute(text("SELECT count(*) FROM kept")).scalar_one() == 0
    engine.dispose()
