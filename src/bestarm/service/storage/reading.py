"""What is looked up in a storage, beside the writer: it waits for nobody's transaction, and nobody for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from bestarm.errors import Refused, ServiceError
from bestarm.names import NAME
from bestarm.protocol.entries import Upload
from bestarm.service.storage.failing import AWAY, first_line, lost
from bestarm.service.storage.rows import log, news, plans, shelf
from bestarm.service.storage.rows.shelf import Shelf
from bestarm.service.storage.rows.tables import entries, tokens
from bestarm.service.storage.rows.tables import studies as study_rows
from bestarm.service.storage.rows.tokens import Role, Token
from bestarm.service.storage.seldom import Seldom, since
from bestarm.service.storage.study import judgement
from bestarm.service.storage.study.overview import Charter, Judged, Overview
from bestarm.service.storage.work import GIVEN_OUT

logger = logging.getLogger("bestarm.service")

LATELY = 25  # uploads that are shown closely


class Reading:
    """A storage as those see it who only read; all may ask the database but what says that it never does."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._failures = Seldom()
        self._shelf = Shelf()
        self._arms: dict[int, tuple[str, ...]] = {}
        self._restored: dict[int, str | None] = {}

    def ping(self) -> None:
        """Refused if the database does not answer. It asks it, so don't call it on an event loop."""
        with self._reading() as connection:
            connection.execute(select(tokens.c.id).limit(1))

    def report(self, what: str, error: Exception) -> None:
        """Write down a failure of the storage, once a minute: while it is away every request fails."""
        times = self._failures.times(what)
        if times:
            logger.error("%s%s: %s", what, since(times), first_line(error))

    def find(self, name: str) -> Charter | None:
        """The study that this name leads to. It may ask the database, so don't call it on an event loop."""
        found = self.known(name)
        if found is None and NAME.fullmatch(name):
            with self._reading() as connection:
                found = self._shelf.look(connection, name)
        return found

    def known(self, name: str) -> Charter | None:
        """The same, if this process has read it in the last second; never asks the database."""
        return self._shelf.known(name)

    def names(self, archived: bool = True) -> list[str]:
        """The names of all studies, or of those that are not archived, in the order in which they were made."""
        with self._reading() as connection:
            return shelf.names(connection, archived)

    def arms(self, study: Charter) -> tuple[str, ...]:
        """All arms that the study ever had, as far as this process knows."""
        return self._arms.get(study.id, study.problem.arms)

    def restored(self, study: Charter) -> str | None:
        """The id of the entry that said last that the log was put back, as far as is known here."""
        return self._restored.get(study.id)

    def untold(self) -> dict[tuple[int, bool], int]:
        """How many news of each study wait to be told, or (True) were given up."""
        with self._reading() as connection:
            return news.untold(connection)

    def lengths(self, ids: Iterable[int]) -> dict[int, int]:
        """How many entries the logs of these studies have, in the database."""
        query = select(entries.c.study_id, func.max(entries.c.position)).group_by(entries.c.study_id)
        with self._reading() as connection:
            rows = connection.execute(query.where(entries.c.study_id.in_(list(ids)))).all()
        return {row[0]: row[1] for row in rows}

    def entries(self, study: Charter, length: int, after: int = 0) -> Iterator[Any]:
        """The rows of a log up to `length`, after some, a few at a time: all of them may be a lot."""
        done, page = after, log.FROM.limit(log.together(len(self.arms(study))))
        while done < length:
            rows = self._rows(page, {"study": study.id, "first": done + 1})
            if not rows:
                raise ServiceError(f"study {study.name!r}: its log ends after {done} of {length} entries.")
            yield from rows[: length - done]
            done += len(rows)

    def plan_texts(self, overview: Overview) -> plans.Texts:
        """The plans of a study's log, as JSON."""
        return plans.Texts(overview.arms, log.kept_at(self._rows, overview.study.id))

    def judged(self, study: Charter, after: int = 0, upto: int | None = None) -> Iterator[Judged]:
        """What was known after each upload of a study, after the first so many, and up to some."""
        row = self._rows(GIVEN_OUT, {"study": study.id})
        stopped_at = row[0].stopped_at if row else None
        for row in log.uploads_after(self._rows, study.id, after):
            one = judgement.judged(row, self.arms(study), stopped_at)
            if upto is not None and one.position > upto:
                return
            yield one

    def lately(self, overview: Overview) -> list[tuple[Judged, Upload]]:
        """The last uploads of a study, in their order; called by whoever wants to see them."""
        after = max(overview.uploads - LATELY, 0)
        found = []
        for row in log.uploads_after(self._rows, overview.study.id, after):
            one = judgement.judged(row, overview.arms, overview.stopped_at)
            if one.position > overview.uploads:
                break
            found.append((one, log.as_upload(log.entry_of(row, overview.arms))))
        return found

    def uploads(self, overview: Overview) -> Iterator[Upload]:
        """The uploads of a study."""
        for row in self.entries(overview.study, overview.length):
            if row.kind == Upload.word:
                yield log.as_upload(log.entry_of(row, overview.arms))

    def batches(self, study: Charter, agent: str, most: int) -> list[Any]:
        """The rows of a site's last uploads, the last first."""
        which = (entries.c.study_id == study.id) & (entries.c.agent == agent) & (entries.c.kind == Upload.word)
        query = entries.select().where(which).order_by(entries.c.position.desc()).limit(most)
        return self._rows(query, {})

    def last_plan(self, overview: Overview, agent: str) -> str | None:
        """What a site was asked for last, as JSON; None if it was not asked for anything."""
        which = (entries.c.study_id == overview.study.id) & (entries.c.agent == agent)
        rows = self._rows(entries.select().where(which).order_by(entries.c.position.desc()).limit(1), {})
        if not rows or rows[0].plan is None:
            return None
        return self.plan_texts(overview).json(rows[0].position, rows[0].plan)

    def receipts(self, study: Charter, agent: str, after: int, most: int) -> list[Any]:
        """Where the uploads of an agent stand in the log, after some of them: rows of the database."""
        asked = {"study": study.id, "who": agent, "after": after, "most": most}
        with self._reading() as connection:
            return list(connection.execute(log.RECEIPTS, asked).all())

    def tokens(self, study: Charter | None) -> list[Token]:
        """The tokens of a study, or all."""
        with self._reading() as connection:
            return self._read_tokens(connection, None if study is None else tokens.c.study_id == study.id)

    def token(self, hashed: str) -> Token | None:
        """The token with this hash, valid or not."""
        with self._reading() as connection:
            found = self._read_tokens(connection, tokens.c.hash == hashed)
        return found[0] if found else None

    def _rows(self, query: Any, values: Mapping[str, Any]) -> list[Any]:
        """The rows of a query, outside of the writer's transactions."""
        with self._reading() as connection:
            return list(connection.execute(query, values).all())

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection to look something up, outside the writer's transactions."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except (DBAPIError, NoConnection) as error:
            if not lost(error):
                raise
            self.report("the storage failed", error)
            raise Refused(AWAY, "storage", 503) from None

    @staticmethod
    def _read_tokens(connection: Connection, which: Any) -> list[Token]:
        query = select(tokens, study_rows.c.name.label("study")).outerjoin(
            study_rows, tokens.c.study_id == study_rows.c.id
        )
        if which is not None:
            query = query.where(which)
        rows = connection.execute(query.order_by(tokens.c.created_at, tokens.c.id))
        return [Token(**{**row._mapping, "role": Role(row.role)}) for row in rows]
