"""The first tables: studies, their uploads, the sites that joined, and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make them."""
    schema = op.create_table("bestarm_schema", sa.Column("version", sa.Integer, nullable=False))
    op.execute(schema.insert().values(version=1))
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("method", sa.String(64), nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("agents", sa.Integer, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("stopped_at", sa.Integer),
        sa.Column("verdict", sa.Text),
    )
    op.create_table(
        "uploads",
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("agent", sa.String(64), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("tally", sa.Text, nullable=False),
        sa.Column("received_at", sa.String(32), nullable=False),
        sa.UniqueConstraint("study_id", "sequence", "agent"),
    )
    op.create_table(
        "sites",
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("agent", sa.String(64), primary_key=True),
        sa.Column("joined_at", sa.String(32), nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id")),
        sa.Column("agent", sa.String(64)),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.String(32)),
        sa.Column("revoked_at", sa.String(32)),
    )
