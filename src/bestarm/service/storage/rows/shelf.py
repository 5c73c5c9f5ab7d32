"""Where a study stands among the others: its name, the names that it had, and whether it is archived.

None of it has a part in the statistics; who has renamed a study is noted in its log. A name that once led to a
study leads to it for ever: sites keep the name that they joined under, and may be offline while it changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select

from bestarm.errors import Refused, ServiceError
from bestarm.service.storage.rows.studies import from_row
from bestarm.service.storage.rows.tables import names as name_rows
from bestarm.service.storage.rows.tables import studies as study_rows
from bestarm.service.storage.study.overview import Charter

BELIEVED = 1.0  # seconds until a study's name is read again: another process may have changed it
TAKEN = "there is a study {name!r} already; take another name."
ONCE_TAKEN = (
    "study {now!r} was called {name!r} before, and its sites may still come under that name; take another name."
)


class Shelf:
    """The studies that this process has read. Where a name leads never changes; what a study is called may."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._ids: dict[str, int] = {}
        self._read: dict[int, tuple[float, Charter]] = {}

    def known(self, name: str) -> Charter | None:
        """The study that a name leads to, if that was read a moment ago."""
        found = self._read.get(self._ids.get(name, 0))
        return found[1] if found is not None and self._seconds() - found[0] < BELIEVED else None

    def look(self, connection: Connection, name: str) -> Charter | None:
        """The study that a name leads to; what was read before is read again only if it has changed."""
        now = self._seconds()
        led = name_rows.c.study_id == study_rows.c.id
        query = select(study_rows.c.id, study_rows.c.name, study_rows.c.archived_at).join(name_rows, led)
        row = connection.execute(query.where(name_rows.c.name == name)).first()
        if row is None:
            return None
        _, study = self._read.get(row.id, (now, None))
        if study is None or (study.name, study.archived) != (row.name, row.archived_at is not None):
            study = read(connection, row.id)
        self._ids[name] = row.id
        self._read[row.id] = now, study
        return study

    def forget(self, study_id: int) -> None:
        """Read a study again when it is next asked for."""
        self._read.pop(study_id, None)


def names(connection: Connection, archived: bool) -> list[str]:
    """What the studies are called, in the order in which they were made."""
    query = select(study_rows.c.name).order_by(study_rows.c.id)
    if not archived:
        query = query.where(study_rows.c.archived_at.is_(None))
    return list(connection.execute(query).scalars())


def read(connection: Connection, study_id: int) -> Charter:
    """A study that is there."""
    row = connection.execute(study_rows.select().where(study_rows.c.id == study_id)).first()
    if row is None:
        raise ServiceError("the study is not in the storage any more; restart the server.")
    return from_row(row)


def add(connection: Connection, row: dict[str, Any]) -> Charter:
    """A new study under a name that leads nowhere yet."""
    _check_free(connection, row["name"])
    made = connection.execute(study_rows.insert().values(**row)).inserted_primary_key
    assert made is not None
    connection.execute(name_rows.insert().values(name=row["name"], study_id=made[0]))
    return read(connection, made[0])


def rename(connection: Connection, study_id: int, name: str) -> str | None:
    """Another name for a study, and for its problem, whose numbers stay as they are, bit for bit.

    The name that it had before; None if it is called so already.
    """
    row = connection.execute(study_rows.select().where(study_rows.c.id == study_id)).one()
    if row.name == name:
        return None
    if _leads_to(connection, name) != study_id:  # it may get back a name that it had
        _check_free(connection, name)
        connection.execute(name_rows.insert().values(name=name, study_id=study_id))
    problem = json.dumps(json.loads(row.problem) | {"name": name}, allow_nan=False)
    change = study_rows.update().where(study_rows.c.id == study_id)
    connection.execute(change.values(name=name, problem=problem))
    return str(row.name)


def archive(connection: Connection, study_id: int, at: str | None) -> None:
    """Note since when a study is archived; None for one that is not."""
    change = study_rows.update().where(study_rows.c.id == study_id)
    if at is not None:
        change = change.where(study_rows.c.archived_at.is_(None))  # the first time counts
    connection.execute(change.values(archived_at=at))


def _leads_to(connection: Connection, name: str) -> int | None:
    return connection.execute(select(name_rows.c.study_id).where(name_rows.c.name == name)).scalar()


def _check_free(connection: Connection, name: str) -> None:
    study_id = _leads_to(connection, name)
    if study_id is None:
        return
    now = connection.execute(select(study_rows.c.name).where(study_rows.c.id == study_id)).scalar_one()
    sentence = TAKEN if now == name else ONCE_TAKEN
    raise Refused(sentence.format(name=name, now=now), "exists", 409)
