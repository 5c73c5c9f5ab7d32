"""A study's log as rows of a table: what is written of an entry, and how rows become entries again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from bestarm.chain import CANONICAL, link
from bestarm.core.tally import Tally
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.entries import Correction, Entry, FromSite, Upload, body_of, entry_from
from bestarm.protocol.messages import verdict_from_json
from bestarm.protocol.past import Logged
from bestarm.protocol.server import CHANGES_THE_PAST, total_of
from bestarm.service.storage.rows import plans
from bestarm.service.storage.rows.tables import entries
from bestarm.service.storage.study.judgement import number_in
from bestarm.service.storage.study.ledger import Ledger, OutOfRange, Recorded

TOGETHER = 200  # rows that are read at once,
LONG = 20_000  # and fewer where they may be long: so many rows by arms
FEW = 2_000  # uploads that may be read again inside a transaction

Read = Callable[[Any, Mapping[str, Any]], list[Any]]  # the rows of a query

# What is asked again and again, put together once. The first row is there to see that it is what it was.
OF_STUDY = entries.c.study_id == bindparam("study")
FROM = (
    entries.select()
    .where(OF_STUDY, entries.c.position >= bindparam("first"))
    .order_by(entries.c.position)
    .limit(TOGETHER)
)
UPLOADS = (
    entries.select()
    .where(OF_STUDY, entries.c.position > bindparam("after"), entries.c.kind == Upload.word)
    .order_by(entries.c.position)
    .limit(TOGETHER)
)
BY_ID = entries.select().where(OF_STUDY, entries.c.id == bindparam("id"))
PLAN = select(entries.c.plan).where(OF_STUDY, entries.c.position == bindparam("position"))
HERE = (entries.c.study_id == bindparam("study")) & (entries.c.position == bindparam("at"))
RECEIPTS = (
    select(entries.c.sequence, entries.c.position, entries.c.digest, entries.c.received_at, entries.c.body)
    .where(
        OF_STUDY,
        entries.c.kind == Upload.word,
        entries.c.agent == bindparam("who"),
        entries.c.sequence > bindparam("after"),
    )
    .order_by(entries.c.sequence)
    .limit(bindparam("most"))
)
KEEP_PLAN = entries.update().where(HERE).values(plan=bindparam("made"))
FILL = entries.update().where(HERE, entries.c.said.is_(None)).values(said=bindparam("known"))
COLUMNS = (
    "study_id",
    "position",
    "kind",
    "id",
    "agent",
    "sequence",
    "body",
    "received_at",
    "decision",
    "digest",
    "plan",
    "said",
)
APPEND = f"""INSERT INTO entries ({", ".join(f'"{name}"' for name in COLUMNS)}) VALUES """
Written = tuple[int, int, str, str, str | None, int | None, str, str, str | None, str, str | None, str | None]


class Sealed(NamedTuple):
    """What is written of an entry whatever answers it: what it says, when it came, what it led to, and its
    digest.
    """

    body: str
    received_at: str
    decision: str | None
    digest: str


class FarBack(Exception):
    """More of the log would have to be read again than fits into a transaction."""


def together(arms: int) -> int:
    """How many rows are read at once by whom there are many of: readers of a study with so many arms.

    >>> together(3), together(1_000), together(10_000)
    (200, 20, 2)
    """
    return max(1, min(TOGETHER, LONG // arms))


def body_text(entry: Entry, arms: tuple[str, ...]) -> str:
    """What an entry says, as canonical JSON."""
    return CANONICAL.encode(body_of(entry, arms))


def append(connection: Connection, rows: list[Written]) -> None:
    """Write rows in one statement: the driver takes a turn for each."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    places = f"({', '.join([mark] * len(COLUMNS))})"
    text = APPEND + ", ".join([places] * len(rows))
    connection.exec_driver_sql(text, tuple(value for row in rows for value in row))


def entry_of(row: Any, arms: tuple[str, ...]) -> Entry:
    """What a row says."""
    return entry_from(row.kind, json.loads(row.body), arms)


def as_upload(entry: Entry) -> Upload:
    """An entry that is an upload."""
    assert isinstance(entry, Upload)
    return entry


class Rows:
    """The past of a study, in the database. Before it is read, rows that wait to be written are."""

    def __init__(self, read: Read, ledger: Ledger, flush: Callable[[], None] = lambda: None) -> None:
        self._read, self._ledger, self._flush = read, ledger, flush

    def add(self, logged: Logged) -> None:
        """Whoever appends writes the row."""

    def find(self, id: str) -> Logged | None:
        """The entry with this id; its plan is as it is kept."""
        found = self.row(id)
        if found is None:
            return None
        uploads = 0 if found.said is None else number_in(found.said)
        return Logged(entry_of(found, self._ledger.server.arms), found.position - 1, uploads)

    def row(self, id: str) -> Any | None:
        """The row with this id."""
        self._flush()
        found = self._read(BY_ID, {"study": self._ledger.study.id, "id": id})
        return found[0] if found else None

    def uploads(self, after: int = 0, upto: int | None = None) -> Iterator[Upload]:
        """The uploads in their order, after the first so many, and up to some."""
        self._flush()
        for row in uploads_after(self._read, self._ledger.study.id, after):
            if upto is not None and number_in(row.said) > upto:
                return
            yield as_upload(entry_of(row, self._ledger.server.arms))


def uploads_after(read: Read, study: int, after: int) -> Iterator[Any]:
    """The rows of the uploads after the first so many, a page at a time."""
    position = after  # no upload stands earlier than its number
    while True:
        rows = read(UPLOADS, {"study": study, "after": position})
        yield from (row for row in rows if number_in(row.said) > after)
        if len(rows) < TOGETHER:
            return
        position = rows[-1].position + max(after - number_in(rows[-1].said), 0)


def catch_up(read: Read, ledger: Ledger) -> bool:
    """Follow what the log has gained; False, and the ledger is worthless, if it has lost what was there.

    A database that was restored or failed over while the server ran may know less than the server. It is
    `FarBack` if that takes long.
    """
    end = ledger.length + FEW
    while True:
        rows = read(FROM, {"study": ledger.study.id, "first": ledger.length})
        if ledger.length and (not rows or rows[0].digest != ledger.digest):
            return False
        replay(ledger, rows[1:] if ledger.length else rows, short=True)
        if len(rows) < TOGETHER:
            return True
        if ledger.length > end:
            raise FarBack


def replay(ledger: Ledger, rows: Iterable[Any], short: bool = False) -> list[tuple[int, str]]:
    """Append rows of the log; a row that no server wrote is a damaged study.

    Positions of uploads beside which nobody has written what was known after them, with that.
    """
    missing = []
    for row in rows:
        try:
            if row.position != ledger.length + 1:
                raise UserError(f"position {ledger.length + 1} is missing.")
            sealed = row.received_at, row.decision, row.body
            digest = link(ledger.digest, row.position, row.kind, *sealed)
            if digest != row.digest:
                raise UserError("its digest is another; it was changed, or what stands before it.")
            entry = entry_of(row, ledger.server.arms)
            if entry.id != row.id:
                raise UserError(f"its id is {row.id!r}, and what it says is of {entry.id!r}.")
            if short and isinstance(entry, CHANGES_THE_PAST) and ledger.server.uploads > FEW:
                raise FarBack
            decision = None if row.decision is None else verdict_from_json(json.loads(row.decision))
            asked, size = plans.size_of(row.plan), len(row.body.encode())
            said = ledger.append(entry, row.received_at, size, asked, recorded=Recorded(decision))
            ledger.digest = digest
        except (ValueError, LookupError, TypeError, ArithmeticError, OutOfRange) as error:
            raise ServiceError(
                f"study {ledger.study.name!r}: its log can't be replayed at position {row.position}: {error}"
            ) from None
        if said is not None and row.said is None:
            missing.append((row.position, said))
    return missing


def kept_at(read: Read, study: int) -> plans.Kept:
    """Looks up what is kept of the plan at a position."""

    def look(position: int) -> str | None:
        found = read(PLAN, {"study": study, "position": position})
        kept: str | None = found[0][0] if found else None
        return kept

    return look


def total_at(read: Read, ledger: Ledger, place: int, start: tuple[int, Tally] | None) -> Tally:
    """The total as it was after the entry at a place; `start` is one that is known at an earlier position."""
    server, study = ledger.server, ledger.study.id
    right = {
        (one.entry.agent, one.entry.sequence): one.entry.tally
        for one in ledger.happened
        if isinstance(one.entry, Correction) and one.position <= place + 1
    }
    position, known = start or (0, server.known.start)

    def tallies() -> Iterator[Tally]:
        after = position
        while True:
            rows = read(UPLOADS, {"study": study, "after": after})
            for row in rows:
                if row.position > place + 1:
                    return
                entry = as_upload(entry_of(row, server.arms))
                yield right.get((entry.agent, entry.sequence), entry.tally)
            if len(rows) < TOGETHER:
                return
            after = rows[-1].position

    return total_of(known, tallies(), len(server.arms_at(place)))


def written(
    study: int, position: int, entry: Entry, sealed: Sealed, plan: str | None, said: str | None
) -> Written:
    """The row of an entry that a ledger has taken."""
    agent = entry.agent if isinstance(entry, FromSite) else None
    sequence = entry.sequence if isinstance(entry, Upload) else None
    return study, position, entry.word, entry.id, agent, sequence, *sealed, plan, said
