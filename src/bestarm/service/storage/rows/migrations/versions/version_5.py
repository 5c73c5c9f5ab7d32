"""Each entry carries the digest of the one before, and says whether the study was decided there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from bestarm.chain import CANONICAL, charter, link

revision = "5"
down_revision = "4"

TOGETHER = 500  # rows that are copied at once: plans can be long
BEFORE = sa.table(
    "entries_4",
    sa.column("study_id", sa.Integer),
    sa.column("position", sa.Integer),
    *map(sa.column, ("kind", "id", "agent", "sequence", "body", "received_at", "plan")),
)
STUDIES = sa.table(
    "studies",
    sa.column("id", sa.Integer),
    *map(sa.column, ("problem", "method", "parameters", "agents", "stopped_at", "verdict")),
)


def upgrade() -> None:
    """Copy the log, with digests, to a table in which plans, which are long, stay behind all else.

    The digests of entries that were there before prove what the log was when it was upgraded, not what it had
    been until then. Nobody wrote down at which entry a study was decided, only after how many uploads: it is
    the last of them, unless a correction came before the next one. Then the replay decides, as before.
    """
    op.rename_table("entries", "entries_4")
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
        sa.Column("decision", sa.Text),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("plan", sa.Text),
        sa.UniqueConstraint("study_id", "id"),
    )
    connection = op.get_bind()
    for study in connection.execute(STUDIES.select().order_by(STUDIES.c.id)).all():
        _copy(connection, study, entries)
    op.drop_table("entries_4")


def _copy(connection: sa.Connection, study: Any, entries: sa.Table) -> None:
    digest, decided_at = _begin(study), _decided_at(connection, study)
    for rows in _pages(connection, study.id):
        copies = []
        for row in rows:
            body = _canonical(row["body"])
            decision = _canonical(study.verdict) if row["position"] == decided_at else None
            digest = link(digest, row["position"], row["kind"], row["received_at"], decision, body)
            copies.append(row | {"body": body, "decision": decision, "digest": digest})
        connection.execute(entries.insert(), copies)


def _pages(connection: sa.Connection, study: int) -> Iterator[list[dict[str, Any]]]:
    after = 0
    while True:
        here = (BEFORE.c.study_id == study) & (BEFORE.c.position > after)
        found = connection.execute(BEFORE.select().where(here).order_by(BEFORE.c.position).limit(TOGETHER))
        rows = [dict(row) for row in found.mappings()]
        if not rows:
            return
        yield rows
        after = rows[-1]["position"]


def _decided_at(connection: sa.Connection, study: Any) -> int | None:
    """The position of the entry at which the study was decided, if that is known."""
    if study.stopped_at is None:
        return None
    query = sa.select(BEFORE.c.position).where(BEFORE.c.study_id == study.id).order_by(BEFORE.c.position)
    uploads = query.where(BEFORE.c.kind == "uploaded").offset(study.stopped_at - 1).limit(2)
    places = connection.execute(uploads).scalars().all()
    if not places:
        return None
    others = query.where(BEFORE.c.kind.in_(("corrected", "arm added", "arm withdrawn")))
    doubt = others.where(BEFORE.c.position > places[0])
    if len(places) > 1:
        doubt = doubt.where(BEFORE.c.position < places[1])
    return None if connection.execute(doubt.limit(1)).first() else int(places[0])


def _begin(study: Any) -> str:
    """What the log begins with; anything for a study that can't be read, as it can't be served either."""
    try:
        problem, parameters = json.loads(study.problem), json.loads(study.parameters)
        return charter(problem, study.method, parameters, study.agents)
    except (ValueError, TypeError, AttributeError):
        return ""


def _canonical(text: str) -> str:
    """The same JSON in its one form; what is none stays as it is."""
    try:
        return CANONICAL.encode(json.loads(text))
    except ValueError:
        return text
