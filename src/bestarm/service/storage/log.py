"""A study's log as rows of a table: what is written of an entry, and how rows become a ledger again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, case, select

from bestarm.chain import CANONICAL, link
from bestarm.core.plan import Plan
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.entries import Entry, FromSite, Upload, body_of, entry_from
from bestarm.protocol.messages import plan_from_json, verdict_from_json
from bestarm.service.storage.ledger import Ledger, OutOfRange, Recorded, plan_text
from bestarm.service.storage.tables import entries

TOGETHER = 100  # rows that are read at once: plans can be long

# What is asked again and again, put together once. The first row is there to see that it is what it was.
FROM = (
    select(
        entries.c.position,
        entries.c.kind,
        entries.c.id,
        entries.c.body,
        entries.c.received_at,
        entries.c.decision,
        entries.c.digest,
        case((entries.c.position > bindparam("first"), entries.c.plan)).label("plan"),
    )
    .where(entries.c.study_id == bindparam("study"), entries.c.position >= bindparam("first"))
    .order_by(entries.c.position)
    .limit(TOGETHER)
)
AFTER = (
    entries.select()
    .where(entries.c.study_id == bindparam("study"), entries.c.position > bindparam("after"))
    .order_by(entries.c.position)
    .limit(TOGETHER)
)
HERE = (entries.c.study_id == bindparam("study")) & (entries.c.position == bindparam("place"))
PLAN = select(entries.c.plan).where(HERE)
DIGEST = select(entries.c.digest).where(HERE)
RECEIPTS = (
    select(entries.c.sequence, entries.c.position, entries.c.digest, entries.c.received_at, entries.c.body)
    .where(
        entries.c.study_id == bindparam("study"),
        entries.c.kind == Upload.word,
        entries.c.agent == bindparam("who"),
        entries.c.sequence > bindparam("after"),
    )
    .order_by(entries.c.sequence)
    .limit(bindparam("most"))
)
KEEP_PLAN = entries.update().where(HERE).values(plan=bindparam("made"))
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
)
APPEND = f"""INSERT INTO entries ({", ".join(f'"{name}"' for name in COLUMNS)}) VALUES """
Written = tuple[int, int, str, str, str | None, int | None, str, str, str | None, str, str | None]


class Sealed(NamedTuple):
    """What is written of an entry whatever answers it: what it says, when it came, what it led to, and its
    digest.
    """

    body: str
    received_at: str
    decision: str | None
    digest: str


def body_text(entry: Entry, arms: tuple[str, ...]) -> str:
    """What an entry says, as canonical JSON."""
    return CANONICAL.encode(body_of(entry, arms))


def written(ledger: Ledger, place: int, sealed: Sealed, plan: str | None) -> Written:
    """The row of an entry that a ledger has taken; the plan is JSON."""
    study, entry = ledger.study, ledger.server.entries[place].entry
    agent = entry.agent if isinstance(entry, FromSite) else None
    sequence = entry.sequence if isinstance(entry, Upload) else None
    return study.id, place + 1, entry.word, entry.id, agent, sequence, *sealed, plan


def append(connection: Connection, rows: list[Written]) -> None:
    """Write rows in one statement: the driver takes a turn for each."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    places = f"({', '.join([mark] * len(COLUMNS))})"
    text = APPEND + ", ".join([places] * len(rows))
    connection.exec_driver_sql(text, tuple(value for row in rows for value in row))


def catch_up(connection: Connection, ledger: Ledger) -> bool:
    """Replay what the log has gained; False, and the ledger is worthless, if it has lost what was there.

    A database that was restored or failed over while the server ran may know less than the server.
    """
    known = ledger.length
    while True:
        rows = connection.execute(FROM, {"study": ledger.study.id, "first": known}).all()
        if known and (not rows or (rows[0].position, rows[0].id, rows[0].received_at) != ledger.end):
            return False
        _replay(ledger, rows[1:] if known else rows)
        if len(rows) < TOGETHER:
            return True
        known = ledger.length


def _replay(ledger: Ledger, rows: Iterable[Any]) -> None:
    """Append rows of the log; a row that no server wrote is a damaged study."""
    for row in rows:
        try:
            if row.position != ledger.length + 1:
                raise UserError(f"position {ledger.length + 1} is missing.")
            sealed = row.received_at, row.decision, row.body
            digest = link(ledger.digest, row.position, row.kind, *sealed)
            if digest != row.digest:
                raise UserError("its digest is another; it was changed, or what stands before it.")
            entry = entry_from(row.kind, json.loads(row.body), ledger.server.arms)
            if entry.id != row.id:
                raise UserError(f"its id is {row.id!r}, and what it says is of {entry.id!r}.")
            plan = None if row.plan is None else sum(step[1] for step in json.loads(row.plan))
            decision = None if row.decision is None else verdict_from_json(json.loads(row.decision))
            ledger.append(entry, row.received_at, len(row.body.encode()), plan, Recorded(decision))
            ledger.digest = digest
        except (ValueError, LookupError, TypeError, ArithmeticError, OutOfRange) as error:
            raise ServiceError(
                f"study {ledger.study.name!r}: its log can't be replayed at position {row.position}: {error}"
            ) from None


def recall(connection: Connection, ledger: Ledger, place: int) -> Plan | None:
    """The plan that answered an entry, from the database."""
    text = connection.execute(PLAN, {"study": ledger.study.id, "place": place + 1}).scalar()
    try:
        return None if text is None else plan_from_json(json.loads(text), ledger.server.arms)
    except ValueError as error:
        raise ServiceError(
            f"study {ledger.study.name!r}: the plan at position {place + 1} of its log can't be read: {error}"
        ) from None


def digest_at(connection: Connection, ledger: Ledger, place: int) -> str:
    """The digest of an entry, from the database."""
    return str(connection.execute(DIGEST, {"study": ledger.study.id, "place": place + 1}).scalar())


def keep_plan(connection: Connection, ledger: Ledger, place: int, plan: Plan) -> None:
    """Write down the plan of an entry that had none: one of version 0.1, whose agents made their own."""
    made = plan_text(plan, ledger.server.arms)
    connection.execute(KEEP_PLAN, {"study": ledger.study.id, "place": place + 1, "made": made})
