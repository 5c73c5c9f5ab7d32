"""Who is told about studies, since when, and what: so that nothing is forgotten and nothing told twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "6"
down_revision = "5"


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "receivers",
        sa.Column("receiver", sa.String(32), primary_key=True),
        sa.Column("since", sa.String(32), nullable=False),
    )
    op.create_table(
        "news",
        sa.Column("receiver", sa.String(32), sa.ForeignKey("receivers.receiver"), primary_key=True),
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("event", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("noticed_at", sa.String(32), nullable=False),
        sa.Column("due_at", sa.String(32), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("told_at", sa.String(32)),
    )
