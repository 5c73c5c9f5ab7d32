"""A study is one log of typed entries: joins, uploads and closings, which had a table or a column each."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from bestarm.errors import UserError
from bestarm.service.storage.rows.studies import read_problem

revision = "3"
down_revision = "2"

# What is read of the tables of version 2.
STUDIES = sa.table(
    "studies",
    sa.column("id", sa.Integer),
    sa.column("problem", sa.Text),
    sa.column("created_at", sa.String),
    sa.column("closed", sa.Boolean),
)
SITES = sa.table("sites", *map(sa.column, ("study_id", "agent", "joined_at", "journal")))
UPLOADS = sa.table(
    "uploads",
    sa.column("study_id", sa.Integer),
    sa.column("position", sa.Integer),
    sa.column("agent", sa.Text),
    sa.column("sequence", sa.BigInteger),
    sa.column("tally", sa.Text),
    sa.column("received_at", sa.String),
)


def upgrade() -> None:
    """Each study's sites become joins, in the order of their last one; then come its uploads, then its closing.

    Nobody wrote down which plans were given out, when a site joined first, and when and by whom a study was
    closed.
    """
    entries = op.create_table(
        "entries",
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("id", sa.String(128), nullable=False),
        sa.Column("agent", sa.String(64)),
        sa.Column("sequence", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("received_at", sa.String(32), nullable=False),
        sa.Column("plan", sa.Text),
        sa.UniqueConstraint("study_id", "id"),
    )
    connection = op.get_bind()
    for study in connection.execute(STUDIES.select().order_by(STUDIES.c.id)).all():
        _copy(connection, study, entries)
    op.drop_table("uploads")
    op.drop_table("sites")
    op.drop_column("studies", "closed")
    op.execute("UPDATE bestarm_schema SET version = 3")


def _copy(connection: sa.Connection, study: Any, entries: sa.Table) -> None:
    of_study = SITES.select().where(SITES.c.study_id == study.id)
    sites = connection.execute(of_study.order_by(SITES.c.joined_at, SITES.c.agent)).all()
    for position, site in enumerate(sites, 1):
        body = {"agent": site.agent, "journal": site.journal, "plate": None, "cannot": [], "number": 0}
        row = {"kind": "joined", "id": f"{site.agent}/join/0", "agent": site.agent, "body": _text(body)}
        row |= {"study_id": study.id, "position": position, "received_at": site.joined_at}
        connection.execute(entries.insert().values(row))
    connection.execute(_uploads(study, len(sites), entries))
    if study.closed:
        query = sa.select(sa.func.count(), sa.func.max(entries.c.received_at))
        length, latest = connection.execute(query.where(entries.c.study_id == study.id)).one()
        body = {"id": "upgrade/closed", "by": "admin", "cause": "closed", "reason": ""}
        row = {"kind": "closed", "id": body["id"], "body": _text(body)}
        row |= {"study_id": study.id, "position": length + 1, "received_at": latest or study.created_at}
        connection.execute(entries.insert().values(row))


def _uploads(study: Any, joins: int, entries: sa.Table) -> sa.Insert:
    """One statement for all uploads of a study. The text of a tally stays as it is, and with it every bit.

    Names of agents have no letter that JSON writes in another way.
    """
    agent, sequence = UPLOADS.c.agent, sa.cast(UPLOADS.c.sequence, sa.Text)
    head = sa.literal(f'{{"problem":{_text(_fingerprint(study.problem))},"agent":"', sa.Text)
    body = head + agent + '","sequence":' + sequence + ',"tally":' + UPLOADS.c.tally + "}"
    rows = sa.select(
        UPLOADS.c.study_id,
        UPLOADS.c.position + joins,
        sa.literal("uploaded", sa.Text),
        agent + "/" + sequence,
        agent,
        UPLOADS.c.sequence,
        body,
        UPLOADS.c.received_at,
    ).where(UPLOADS.c.study_id == study.id)
    columns = ("study_id", "position", "kind", "id", "agent", "sequence", "body", "received_at")
    return entries.insert().from_select(columns, rows)


def _fingerprint(problem: str) -> str:
    """What an upload says of its problem; nothing if it can't be read, as it can't be served then."""
    try:
        return read_problem(json.loads(problem)).fingerprint
    except UserError:
        return ""


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
