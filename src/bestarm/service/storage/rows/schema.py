"""Brings the tables of a storage up to date, in the transaction that opens it, or says why that can't be."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text

from bestarm.errors import UserError
from bestarm.service.storage.rows.tables import schema, studies

VERSION = "7"  # the last step in `migrations/versions`
STEPS = Path(__file__).parent / "migrations"
# Any number that other programs on the same database are unlikely to choose.
OPENING_LOCK = 20240715

recorded = Table("alembic_version", MetaData(), Column("version_num", String(32)))  # Alembic's
_one_at_a_time = threading.Lock()  # Alembic keeps what it works on in one place for all threads


def prepare(connection: Connection, steps: Path = STEPS, version: str = VERSION) -> None:
    """Make the tables, or take those of an older version step by step to this one; refuse those of another."""
    if connection.dialect.name == "postgresql":
        # Two servers that open one database at once must not both make its tables.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING_LOCK})
        # An upgrade may take long.
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    found = version_of(connection)
    if found != version:
        with _one_at_a_time:
            _upgrade(connection, found, steps, version)


def version_of(connection: Connection) -> str | None:
    """The version of the tables, None if there are none."""
    tables = inspect(connection)
    for table in (recorded, schema):  # version 0.1 kept the number itself
        if not tables.has_table(table.name):
            continue
        found = connection.execute(table.select()).scalar()
        if found is None and tables.has_table(studies.name):
            raise UserError(
                f"storage: its table {table.name} should have a row that says which version the others have, "
                "and has none; restore a backup."
            )
        return None if found is None else str(found)
    return None


def _upgrade(connection: Connection, found: str | None, steps: Path, version: str) -> None:
    # Here and not above: a storage that is up to date, which most are, starts without them.
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext, MigrationStep
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    scripts = ScriptDirectory(str(steps))
    try:
        if found is not None:
            scripts.get_revision(found)
        missing = list(scripts.iterate_revisions(version, found))
    except CommandError:
        raise UserError(
            f"storage: its tables have version {found}, and this bestarm knows version {version} and those "
            "before it; use the bestarm that made them, or a newer one."
        ) from None

    def path(_: object, __: MigrationContext) -> list[MigrationStep]:
        return [MigrationStep.upgrade_from_script(scripts.revision_map, step) for step in reversed(missing)]

    context = MigrationContext.configure(connection, opts={"fn": path})
    if found is not None:
        context.stamp(scripts, found)
    with Operations.context(context):
        context.run_migrations()
