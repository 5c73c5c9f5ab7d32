"""What is to be told about studies, and to whom: kept until it was told, by one server of all that share it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, func, select, text

from bestarm.service.storage import clock
from bestarm.service.storage.rows import shelf
from bestarm.service.storage.rows.tables import entries, news, receivers
from bestarm.service.storage.rows.tables import studies as study_rows
from bestarm.service.storage.study.overview import Charter

NEVER = "9999"  # after every time
ADD = text(
    "INSERT INTO news (receiver, study_id, event, id, body, noticed_at, due_at, tries) "
    "VALUES (:receiver, :study_id, :event, :id, :body, :noticed_at, :noticed_at, 0) ON CONFLICT DO NOTHING"
)
BEGIN = text("INSERT INTO receivers (receiver, since) VALUES (:receiver, :since) ON CONFLICT DO NOTHING")


class Length(NamedTuple):
    """A study's log: how many entries it has, and when the last one came."""

    study_id: int
    length: int
    last_at: str


def since(connection: Connection, receiver: str, now: datetime) -> str:
    """Since when a receiver is told what happens: now, if it is new. What happened before is not told."""
    connection.execute(BEGIN, {"receiver": receiver, "since": clock.write(now)})
    return str(
        connection.execute(select(receivers.c.since).where(receivers.c.receiver == receiver)).scalar_one()
    )


def lengths(connection: Connection) -> list[Length]:
    """Of all logs that have an entry; archived or not."""
    last = select(entries.c.study_id, func.max(entries.c.position).label("position"))
    ends = last.group_by(entries.c.study_id).subquery()
    same = and_(entries.c.study_id == ends.c.study_id, entries.c.position == ends.c.position)
    query = select(entries.c.study_id, entries.c.position, entries.c.received_at).join(ends, same)
    return [Length(*row) for row in connection.execute(query)]


def study(connection: Connection, study_id: int) -> Charter:
    """A study by its number."""
    return shelf.read(connection, study_id)


def with_deadlines(connection: Connection) -> list[int]:
    """The numbers of the studies that may have a deadline and are not archived."""
    query = select(study_rows.c.id).where(
        study_rows.c.problem.contains('"deadline"'), study_rows.c.archived_at.is_(None)
    )
    return list(connection.execute(query).scalars())


def add(connection: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Note what is to be told; what was noted before, here or by another server, stays as it was."""
    for row in rows:
        connection.execute(ADD, row)


def claim(connection: Connection, receiver: str, now: datetime, lease: timedelta) -> Any | None:
    """The next of a receiver's news, for the caller alone until the lease ends; None if nothing is due.

    A server that dies with it in its hands leaves it to whoever asks after the lease.
    """
    moment = clock.write(now)
    open_ = and_(news.c.receiver == receiver, news.c.told_at.is_(None))
    query = news.select().where(open_, news.c.due_at <= moment).order_by(news.c.due_at, news.c.noticed_at)
    for row in connection.execute(query.limit(10)).all():
        taken = news.update().where(_this(row), news.c.told_at.is_(None), news.c.due_at == row.due_at)
        if connection.execute(taken.values(due_at=clock.write(now + lease), tries=row.tries + 1)).rowcount:
            return row
    return None


def next_due(connection: Connection, receiver: str) -> str | None:
    """When there is something to tell a receiver, if nothing new happens."""
    query = select(func.min(news.c.due_at)).where(news.c.receiver == receiver, news.c.told_at.is_(None))
    found = connection.execute(query).scalar()
    return None if found is None or found >= NEVER else str(found)


def untold(connection: Connection) -> dict[tuple[int, bool], int]:
    """How many of each study's news are not told: those that wait, and those (True) that were given up."""
    given_up = (news.c.due_at >= NEVER).label("given_up")
    query = select(news.c.study_id, given_up, func.count()).where(news.c.told_at.is_(None))
    rows = connection.execute(query.group_by(news.c.study_id, text("given_up")))
    return {(study_id, bool(never)): many for study_id, never, many in rows}


def told(connection: Connection, row: Any, now: datetime) -> None:
    """It was told."""
    connection.execute(news.update().where(_this(row)).values(told_at=clock.write(now)))


def later(connection: Connection, row: Any, at: datetime | None) -> None:
    """It could not be told: again at a time, or never."""
    due = NEVER if at is None else clock.write(at)
    connection.execute(news.update().where(_this(row), news.c.told_at.is_(None)).values(due_at=due))


def _this(row: Any) -> Any:
    return and_(news.c.receiver == row.receiver, news.c.study_id == row.study_id, news.c.event == row.event)
