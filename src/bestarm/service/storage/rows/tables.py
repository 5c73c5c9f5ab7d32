"""The tables of a storage, as they are now. What led to them is in `migrations/`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# Version 0.1 looks here whether it knows the tables. It says 3 for ever: Alembic's own table says the rest.
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
    Column("archived_at", String(32)),  # NULL: it is in the lists
    # What the log replays to, kept to notice a log or a program that no longer gives the same answer.
    Column("stopped_at", Integer),
    Column("verdict", Text),
)

# Every name that leads to a study, those included that it had before: sites go on under the name they know.
names = Table(
    "names",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("study_id", ForeignKey("studies.id"), nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("study_id", ForeignKey("studies.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("id", String(128), nullable=False),
    Column("agent", String(64)),
    Column("sequence", BigInteger),
    Column("body", Text, nullable=False),  # JSON, as protocol.entries.body_of
    Column("received_at", String(32), nullable=False),
    Column("decision", Text),  # JSON, the verdict, where the study was decided
    Column("digest", String(64), nullable=False),  # as chain.link
    # The plan that answered it, as `plans.keep` writes it.
    Column("plan", Text),
    Column("said", Text),  # what was known after an upload, as `judgement.said` writes it
    UniqueConstraint("study_id", "id"),
)

# What a log had led to at a position, to go on from there. It can be thrown away at any time.
snapshots = Table(
    "snapshots",
    metadata,
    Column("study_id", ForeignKey("studies.id"), primary_key=True),
    Column("kind", String(8), primary_key=True),  # state, look or total
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),  # of the entry at the position
    Column("version", String(128), nullable=False),  # of the code that made it
    Column("data", LargeBinary, nullable=False),
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

# Who is told about studies: a hash of where that is, and since when.
receivers = Table(
    "receivers",
    metadata,
    Column("receiver", String(32), primary_key=True),
    Column("since", String(32), nullable=False),
)

# What each receiver is told, once. Whoever takes a row to tell it puts `due_at` ahead, so nobody else does.
news = Table(
    "news",
    metadata,
    Column("receiver", ForeignKey("receivers.receiver"), primary_key=True),
    Column("study_id", ForeignKey("studies.id"), primary_key=True),
    Column("event", String(64), primary_key=True),
    Column("id", String(32), nullable=False),
    Column("body", Text, nullable=False),  # JSON; the same whenever it is told
    Column("noticed_at", String(32), nullable=False),
    Column("due_at", String(32), nullable=False),
    Column("tries", Integer, nullable=False),
    Column("told_at", String(32)),  # NULL: not yet
)
