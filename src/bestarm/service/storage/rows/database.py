"""Opens SQLite or PostgreSQL so that a commit is on disk before anybody is told about it."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from bestarm.errors import UserError
from bestarm.private import make_private

WRITES = "bestarm_writes"
STOPPED = 3  # seconds after which PostgreSQL ends a transaction in which nothing happens
PATIENCE = 5  # seconds that SQLite waits for another process's transaction, and a connection for PostgreSQL


def open_engine(storage: str) -> Engine:
    """The engine of a storage URL, `sqlite:///file.db` or `postgresql+psycopg://user@host/database`."""
    try:
        url = make_url(storage)
    except ArgumentError:
        raise UserError(f"storage is {storage!r}; it must be {_EXAMPLES}.") from None
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _sqlite(url)
    if backend == "postgresql":
        return _postgresql(url.set(drivername="postgresql+psycopg"))
    raise UserError(f"storage is a {backend} URL; it must be {_EXAMPLES}.")


_EXAMPLES = "sqlite:///file.db or postgresql+psycopg://user:password@host/database"


class Pen:
    """The one connection that writes. It is kept from one transaction to the next, until one of them fails."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Commits at the end. SQLite takes its write lock at the start, so that what it reads stays true."""
        if self._connection is None:
            self._connection = self.engine.connect().execution_options(**{WRITES: True})
        try:
            with self._connection.begin():
                yield self._connection
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection back; the pool makes sure that the next one works."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise UserError("storage: a study must survive the server; name a file, as in sqlite:///bestarm.db.")
    path = Path(url.database)
    if not path.parent.is_dir():
        raise UserError(f"storage: there is no folder {str(path.parent)!r} for {path.name!r}; make it first.")
    try:
        make_private(path)  # it holds the log and the hashes of the tokens
    except OSError as error:
        raise UserError(f"storage: {path} can't be opened: {error.strerror}.") from None
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": PATIENCE})
    _watch(engine, path.absolute())
    return _settled(engine)


def _watch(engine: Engine, path: Path) -> None:
    """Begin nothing once the file was removed or replaced: SQLite would write on where nobody looks again."""
    opened = _file_at(path)

    @event.listens_for(engine, "begin")
    def watch(_: Connection) -> None:
        if _file_at(path) != opened:
            gone = OSError(f"{path} was removed or replaced; put it back, or start the server anew")
            raise OperationalError("BEGIN", {}, gone)


def _file_at(path: Path) -> tuple[int, int] | None:
    """Which file it is, whatever it is called."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_memory() -> Engine:
    """An engine whose database no file ever holds; it lives until the engine is disposed of."""
    name = f"file:/bestarm-{secrets.token_hex(8)}?vfs=memdb"  # all connections of this process share it
    kept = sqlite3.connect(name, uri=True, check_same_thread=False)
    url = URL.create("sqlite", database=name, query={"uri": "true"})
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": PATIENCE})
    event.listen(engine, "engine_disposed", lambda _: kept.close())
    return _settled(engine)


def _settled(engine: Engine) -> Engine:
    """An engine of SQLite whose commits are on disk, and whose transactions are ours to begin."""

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _: object) -> None:
        connection.isolation_level = None  # BEGIN is ours, below
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    # A process that stops in the middle of a transaction must not keep a study locked for the others: it is cut
    # off before they lose their patience. Nothing that takes long is done inside of one.
    limits = f"-c lock_timeout={PATIENCE * 1000} -c idle_in_transaction_session_timeout={STOPPED * 1000}"
    engine = create_engine(
        url,
        pool_pre_ping=True,  # a connection that was cut while it was idle is replaced before it is used
        isolation_level="READ COMMITTED",  # a lock that was waited for shows what was committed meanwhile
        connect_args={"connect_timeout": PATIENCE, "options": limits},
    )

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _: object) -> None:
        # A database whose default is to answer before the disk does would break the promise of a commit.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()

    return engine
