"""Studies can be renamed and archived: every name that one ever had goes on leading to it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Make the table of names, which has those that there are."""
    op.create_table(
        "names",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), nullable=False),
    )
    op.execute("INSERT INTO names (name, study_id) SELECT name, id FROM studies")
    op.add_column("studies", sa.Column("archived_at", sa.String(32)))
