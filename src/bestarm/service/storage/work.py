"""One transaction on studies and their logs, whatever the verbs in it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, select

from bestarm.errors import Refused, ServiceError
from bestarm.protocol.entries import Upload
from bestarm.service.storage import studies
from bestarm.service.storage.ledger import Ledger, OutOfRange, Snapshot, Study, Taken
from bestarm.service.storage.tables import sites, uploads
from bestarm.service.storage.tables import studies as study_rows

EXTREME = "upload: its numbers, added to what is known, are too large to compute with."
GONE = "the study is not in the storage any more; if an older copy was put in its place, restart the server."
OTHER_JOURNAL = (
    "agent {agent!r} has joined with another journal, and two would be taken for one; use that journal, or ask "
    "for a token with a new agent name."
)

# What every transaction says, put together once.
LOCK = select(study_rows.c.closed).where(study_rows.c.id == bindparam("study")).with_for_update()
FROM = (
    uploads.select()
    .where(uploads.c.study_id == bindparam("study"), uploads.c.position >= bindparam("first"))
    .order_by(uploads.c.position)
)
APPEND = "INSERT INTO uploads (study_id, position, agent, sequence, tally, received_at) VALUES "


class Work:
    """One transaction of the writer: the studies it touches, caught up with their logs, and rows to insert.

    A ledger leaves the memory when the transaction takes it and comes back after the commit, so a
    transaction that fails takes what it did to the ledger with it.
    """

    def __init__(self, memory: dict[int, Ledger], connection: Connection) -> None:
        self.memory = memory
        self.connection = connection
        self.closed: dict[int, bool] = {}
        self.ledgers: dict[int, Ledger] = {}
        self._rows: list[tuple[Any, ...]] = []

    def lock(self, ids: set[int]) -> None:
        """Lock these studies until the commit, in the order of their ids, so that nobody waits in a ring."""
        for study in sorted(ids):
            closed = self.connection.execute(LOCK, {"study": study}).scalar()
            if closed is None:
                raise ServiceError(GONE)
            self.closed[study] = closed

    def lock_tokens(self) -> None:
        """Let no other process change the tokens until the commit (SQLite has one writer anyway)."""
        if self.connection.dialect.name == "postgresql":
            self.connection.exec_driver_sql("LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE")

    def ledger(self, study: Study) -> Ledger:
        """The study, replayed to the end of its log."""
        if study.id not in self.ledgers:
            ledger = self.memory.pop(study.id, None)
            if ledger is None or not self._catch_up(ledger):
                ledger = Ledger(study)
                self._catch_up(ledger)
                given_out = select(study_rows.c.stopped_at, study_rows.c.verdict)
                row = self.connection.execute(given_out.where(study_rows.c.id == study.id)).one()
                if row.stopped_at is not None and row.stopped_at > len(ledger.entries):
                    self._catch_up(ledger)  # another server has stopped the study between the two questions
                studies.check_verdict(ledger, row.stopped_at, row.verdict)
            self.ledgers[study.id] = ledger
        return self.ledgers[study.id]

    def _catch_up(self, ledger: Ledger) -> bool:
        """Replay what the log has gained; False, and the ledger is worthless, if it has lost what was there.

        A database that was restored or failed over while the server ran may know less than the server.
        """
        known = len(ledger.entries)
        rows = list(self.connection.execute(FROM, {"study": ledger.study.id, "first": known}))
        if known:
            last = ledger.entries[-1]
            expected = (last.position, last.agent, last.sequence)
            if not rows or (rows[0].position, rows[0].agent, rows[0].sequence) != expected:
                return False
        studies.replay(ledger, rows[1:] if known else rows)
        return True

    def open_ledger(self, study: Study) -> Ledger:
        """The same for a study that is locked; refused if it is closed."""
        if self.closed[study.id]:
            raise Refused(f"study {study.name!r} is closed; ask its administrator to reopen it.", "closed", 409)
        return self.ledger(study)

    def look(self, study: Study) -> Snapshot:
        """What is to be shown of a study."""
        ledger = self.ledger(study)
        if study.id not in self.closed:
            query = select(study_rows.c.closed).where(study_rows.c.id == study.id)
            self.closed[study.id] = self.connection.execute(query).scalar_one()
        seen = self.connection.execute(sites.select().where(sites.c.study_id == study.id))
        return ledger.snapshot(self.closed[study.id], {row.agent: row.joined_at for row in seen})

    def see(self, study: Study, agent: str, journal: str | None, joined_at: str) -> None:
        """Note that an agent has joined; it is the agent of the first journal that it names."""
        here = (sites.c.study_id == study.id) & (sites.c.agent == agent)
        known = self.connection.execute(sites.select().where(here)).first()
        if known is None:
            row = {"study_id": study.id, "agent": agent, "journal": journal, "joined_at": joined_at}
            self.connection.execute(sites.insert().values(**row))
            return
        if journal is not None and known.journal not in (None, journal):
            raise Refused(OTHER_JOURNAL.format(agent=agent), "other-journal", 409)
        change = sites.update().where(here)
        self.connection.execute(change.values(joined_at=joined_at, journal=known.journal or journal))

    def take(self, study: Study, upload: Upload, received_at: str) -> Taken:
        """Append an upload to the log of a study that is locked."""
        ledger = self.ledger(study)
        if not ledger.has(upload):
            self.open_ledger(study)
        stopped_before = ledger.stopped_at
        try:
            taken = ledger.take(upload, received_at)
        except OutOfRange:
            # This ledger can't be trusted any more: the next verb reads the log again, this transaction's rows
            # included.
            self.flush()
            del self.ledgers[study.id]
            raise Refused(EXTREME, "refused", 422) from None
        if taken.new:
            row = (study.id, taken.position, upload.agent, upload.sequence, taken.text, received_at)
            self._rows.append(row)
        if ledger.stopped_at != stopped_before:
            change = study_rows.update().where(study_rows.c.id == study.id)
            verdict = studies.verdict_text(ledger.server.verdict)
            self.connection.execute(change.values(stopped_at=ledger.stopped_at, verdict=verdict))
        return taken

    def flush(self) -> None:
        """Write the rows that were gathered, in one statement: the driver takes a turn for each."""
        if self._rows:
            mark = "?" if self.connection.dialect.paramstyle == "qmark" else "%s"
            places = f"({', '.join([mark] * len(self._rows[0]))})"
            text = APPEND + ", ".join([places] * len(self._rows))
            self.connection.exec_driver_sql(text, tuple(value for row in self._rows for value in row))
            self._rows = []
