"""Sites say which journal they keep. These are the tables of version 0.1."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Add the column."""
    op.add_column("sites", sa.Column("journal", sa.String(64)))
    op.execute("UPDATE bestarm_schema SET version = 2")
