"""What was known after each upload stands beside it, and states are kept: no start reads a whole log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"


def upgrade() -> None:
    """Make room for both. The first server that reads a study fills in what its uploads led to."""
    op.add_column("entries", sa.Column("said", sa.Text))
    op.create_table(
        "snapshots",
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("version", sa.String(128), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
