"""What went wrong with a storage: the database, or what was asked of it; and how that is said."""

from __future__ import annotations

from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

AWAY = "the storage can't be reached; nothing is known to have changed, so send it again later."
LOCKED = (
    "another process has held the storage's lock for too long; nothing has changed, so send it again later, "
    "and if it stays so, see whether that process has stopped."
)


def lost(error: Exception) -> bool:
    """Whether the database, and not the request, is what failed.

    It may also be damaged (SQLite says only `DatabaseError` then), or a copy that takes no writes.
    """
    if isinstance(error, OperationalError | InterfaceError | InternalError | NoConnection):
        return True
    return type(error) is DatabaseError or (isinstance(error, DBAPIError) and error.connection_invalidated)


def locked(error: Exception) -> bool:
    """Whether somebody else has held a lock for longer than we wait."""
    text = str(getattr(error, "orig", error))
    return isinstance(error, OperationalError) and ("locked" in text or "lock timeout" in text)


def first_line(error: Exception) -> str:
    text = str(getattr(error, "orig", error)).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
