"""The tables of a storage, their version, and the steps that bring an older storage up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    text,
)

from bestarm.errors import UserError

VERSION = 2
# MIGRATIONS[n] takes the tables from version n to n + 1; it runs in the transaction that opens the storage.
MIGRATIONS: dict[int, Callable[[Connection], object]] = {
    1: lambda connection: connection.exec_driver_sql("ALTER TABLE sites ADD COLUMN journal VARCHAR(64)"),
}
# Any number that other programs on the same database are unlikely to choose.
OPENING_LOCK = 20240715

metadata = MetaData()

schema = Table("bestarm_schema", metadata, Column("version", Integer, nullable=False))

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("problem", Text, nullable=False),  # JSON, as Problem.to_dict
    Column("method", String(64), nullable=False),
    Column("parameters", Text, nullable=False),  # JSON, all of them
    Column("agents", Integer, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("closed", Boolean, nullable=False, default=False),
    # What the log replays to, kept to notice a log or a program that no longer gives the same answer.
    Column("stopped_at", Integer),
    Column("verdict", Text),
)

uploads = Table(
    "uploads",
    metadata,
    Column("study_id", ForeignKey("studies.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("agent", String(64), nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("tally", Text, nullable=False),  # JSON, {arm: [pulls, reward_sum]}
    Column("received_at", String(32), nullable=False),
    # The sequence first: what the agents send at about the same time then lies side by side on the disk.
    UniqueConstraint("study_id", "sequence", "agent"),
)

sites = Table(
    "sites",
    metadata,
    Column("study_id", ForeignKey("studies.id"), primary_key=True),
    Column("agent", String(64), primary_key=True),
    Column("joined_at", String(32), nullable=False),
    Column("journal", String(64)),  # which of the site's journals this agent is, if it says so
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),  # SHA-256 of the token, never the token
    Column("role", String(16), nullable=False),
    Column("study_id", ForeignKey("studies.id")),
    Column("agent", String(64)),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32)),
    Column("revoked_at", String(32)),
)


def prepare(
    connection: Connection,
    version: int = VERSION,
    migrations: Mapping[int, Callable[[Connection], object]] = MIGRATIONS,
) -> None:
    """Make the tables, or bring those of an older version up to date; refuse those of a newer one."""
    if connection.dialect.name == "postgresql":
        # Two servers that open an empty database at once must not both make its tables.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING_LOCK})
    if not inspect(connection).has_table(schema.name):
        metadata.create_all(connection)
        connection.execute(schema.insert().values(version=version))
        return
    found = connection.execute(schema.select()).scalar_one()
    if found > version:
        raise UserError(
            f"storage: its tables have version {found}, and this bestarm knows versions up to {version}; "
            "use the bestarm that made them, or a newer one."
        )
    for step in range(found, version):
        if step not in migrations:
            raise UserError(
                f"storage: its tables have version {found}, and this bestarm can't bring version {step} "
                f"to version {version}; open it once with a bestarm in between."
            )
        migrations[step](connection)
        connection.execute(schema.update().values(version=step + 1))
