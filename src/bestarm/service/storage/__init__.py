"""What is kept: studies, their logs and tokens, in SQLite or PostgreSQL, and one thread that writes."""

from bestarm.service.storage.storage import Storage

__all__ = ["Storage"]
