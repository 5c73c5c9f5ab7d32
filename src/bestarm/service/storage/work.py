"""One transaction on studies and their logs, whatever the verbs in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, select

from bestarm.errors import Refused, ServiceError
from bestarm.protocol.entries import Close, Correction, Entry, FromSite, Join, Reopen, Upload
from bestarm.protocol.messages import Conflict, Download, Gap, Over, ProtocolError, Stop
from bestarm.service.storage import clock, log, studies
from bestarm.service.storage.joining import news
from bestarm.service.storage.ledger import Ledger, OutOfRange, plan_text
from bestarm.service.storage.overview import Charter, Overview
from bestarm.service.storage.tables import studies as study_rows
from bestarm.service.storage.taken import Taken
from bestarm.service.storage.tokens import new_id
from bestarm.verdict import Reason

CLOSED = "study {name!r} is closed{why}; ask its administrator to reopen it."
SILENT = timedelta(days=1)  # after which what a site was asked for is not kept free of the budget for it
EXTREME = "upload: its numbers, added to what is known, are too large to compute with."
GONE = "the study is not in the storage any more; if an older copy was put in its place, restart the server."
LOCK = select(study_rows.c.id).where(study_rows.c.id == bindparam("study")).with_for_update()


class Work:
    """One transaction of the writer: the studies it touches, caught up with their logs, and rows to insert.

    A ledger leaves the memory when the transaction takes it and comes back after the commit, so a
    transaction that fails takes what it did to the ledger with it. `seen` is when a site last joined, whether
    it had anything new to say or not. A study whose deadline is past is closed by whoever touches it first.
    """

    def __init__(
        self,
        memory: dict[int, Ledger],
        connection: Connection,
        seen: dict[int, dict[str, str]],
        now: datetime,
    ) -> None:
        self.memory = memory
        self.connection = connection
        self.seen = seen
        self.now = now
        self.ledgers: dict[int, Ledger] = {}
        self.reshelved: set[int] = set()  # studies with another name, or archived
        self._unanswered: list[tuple[Ledger, int, log.Sealed, Taken]] = []
        self._rows: list[log.Written] = []

    def lock(self, ids: set[int]) -> None:
        """Lock these studies until the commit, in the order of their ids, so that nobody waits in a ring.

        SQLite has one writer anyway.
        """
        for study in sorted(ids) if self.connection.dialect.name == "postgresql" else ():
            if self.connection.execute(LOCK, {"study": study}).scalar() is None:
                raise ServiceError(GONE)

    def lock_tokens(self) -> None:
        """Let no other process change the tokens until the commit (SQLite has one writer anyway)."""
        if self.connection.dialect.name == "postgresql":
            self.connection.exec_driver_sql("LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE")

    def ledger(self, study: Charter) -> Ledger:
        """The study, replayed to the end of its log."""
        if study.id not in self.ledgers:
            ledger = self.memory.pop(study.id, None)
            if ledger is None or not log.catch_up(self.connection, ledger):
                ledger = Ledger(study)
                log.catch_up(self.connection, ledger)
                given_out = select(study_rows.c.stopped_at, study_rows.c.verdict)
                row = self.connection.execute(given_out.where(study_rows.c.id == study.id)).first()
                if row is None:
                    raise ServiceError(GONE)
                if row.stopped_at is not None and row.stopped_at > len(ledger.judged):
                    # Another server has stopped the study between the two questions.
                    log.catch_up(self.connection, ledger)
                studies.check_verdict(ledger, row.stopped_at, row.verdict)
            self.ledgers[study.id] = ledger
            self._end(ledger)
        self.ledgers[study.id].study = study  # what it is called now, as far as who asks knows
        return self.ledgers[study.id]

    def look(self, study: Charter) -> Overview:
        """What is to be shown of a study."""
        ledger = self.ledger(study)
        self._answer()
        return ledger.overview(self.seen.get(study.id, {}))

    def take(self, study: Charter, upload: Upload, received_at: str) -> Taken:
        """Append an upload to the log of a study that is locked, or find it there."""
        ledger = self.ledger(study)
        place = ledger.server.place(upload.id)
        return self._add(ledger, upload, received_at) if place is None else self._again(ledger, upload, place)

    def begin_with(self, study: Charter, uploads: Iterable[Upload], received_at: str) -> None:
        """Append uploads to the log of a new study that nobody waits for; no plan answers them."""
        for upload in uploads:
            self._add(self.ledger(study), upload, received_at, answered=False)

    def join(self, study: Charter, join: Join, received_at: str) -> tuple[int, Download | Stop]:
        """An agent's last sequence and its plan; a join that says something new is written to the log."""
        ledger = self.ledger(study)
        server = ledger.server
        if server.closed is Reason.CLOSED:
            raise _closed(ledger)
        entry = news(join, server)
        if entry is not None:
            taken = self._add(ledger, entry, received_at)
            self._answer()
            reply = taken.reply
        elif server.over:
            reply = server.last_answer(join.agent)
        else:
            reply = self._recall(ledger, server.last[join.agent])
        self.seen.setdefault(study.id, {})[join.agent] = received_at
        return server.sequences.get(join.agent, 0), reply

    def set_closed(self, study: Charter, closed: bool, by: str, reason: str, received_at: str) -> None:
        """Close a study that is locked, or open it again; nothing happens if it is so already."""
        ledger = self.ledger(study)
        if closed != (ledger.server.closed is not None):
            id = new_id()
            entry = Close(id, by, reason=reason) if closed else Reopen(id, by, reason)
            self._add(ledger, entry, received_at)

    def change(self, study: Charter, entry: Entry, received_at: str) -> int:
        """Append what somebody does to a study that is locked, or find it there; its position in the log."""
        ledger = self.ledger(study)
        place = ledger.server.place(entry.id)
        if place is None:
            self._add(ledger, entry, received_at)
            return ledger.length
        self._again(ledger, entry, place)
        return place + 1

    def flush(self) -> None:
        """Answer what was taken, and write its rows."""
        self._answer()
        if self._rows:
            log.append(self.connection, self._rows)
            self._rows = []

    def _add(self, ledger: Ledger, entry: Entry, received_at: str, answered: bool = True) -> Taken:
        """Append an entry; refused, with nothing changed, if it does not fit."""
        study, stopped_before = ledger.study, ledger.stopped_at
        body = log.body_text(entry, ledger.server.arms)
        try:
            ledger.append(entry, received_at, len(body.encode()))
        except (Gap, Over) as error:
            raise _refused(ledger, entry, error) from None
        except OutOfRange:
            # This ledger can't be trusted any more: the next verb reads the log again, this transaction's rows
            # included.
            self.flush()
            del self.ledgers[study.id]
            raise Refused(EXTREME, "refused", 422) from None
        decided = None
        if ledger.stopped_at != stopped_before:
            decided = studies.verdict_text(ledger.server.verdict)
            change = study_rows.update().where(study_rows.c.id == study.id)
            self.connection.execute(change.values(stopped_at=ledger.stopped_at, verdict=decided))
        digest = ledger.seal(entry.word, body, received_at, decided)
        sealed = log.Sealed(body, received_at, decided, digest)
        taken = Taken(len(ledger.judged), True, ledger.length, digest)
        if answered:
            self._unanswered.append((ledger, ledger.length - 1, sealed, taken))
        else:
            self._rows.append(log.written(ledger, ledger.length - 1, sealed, None))
        if study.method.recipe.sends_total:
            self._answer()  # the plan follows from the total that goes with it
        if isinstance(entry, Upload | Correction):
            self._end(ledger)
        return taken

    def _end(self, ledger: Ledger) -> None:
        """Close a study whose budget is used up or whose deadline is past."""
        close = ledger.server.due(ledger.study.problem.is_past(self.now))
        if close is not None:
            self._add(ledger, close, clock.write(self.now))

    def _answer(self) -> None:
        """Answer what was taken so far.

        Plans are the costly part. So they are made from all that was taken together.
        """
        for ledger, place, sealed, taken in self._unanswered:
            server, entry = ledger.server, ledger.server.entries[place].entry
            if server.over or not isinstance(entry, FromSite):
                # Who was heard before the end gets a plan from what was known then.
                taken.answer, plan = ledger.answer(place, None)
                text = plan_text(plan, server.arms)
            else:
                made = ledger.answer_now(entry.agent, self._silent(ledger))
                taken.answer, text = made.reply, made.text
                server.asked[entry.agent] = made.size
            self._rows.append(log.written(ledger, place, sealed, text))
        self._unanswered = []

    def _again(self, ledger: Ledger, entry: Entry, place: int) -> Taken:
        """The answer that an entry got when it came first; refused if it is another one by the same id."""
        logged = ledger.server.entries[place]
        if logged.entry != entry:
            try:
                ledger.server.receive(entry)
            except Conflict as error:
                raise _refused(ledger, entry, error) from None
        reply = self._recall(ledger, place)
        return Taken(logged.uploads, False, place + 1, log.digest_at(self.connection, ledger, place), reply)

    def _recall(self, ledger: Ledger, place: int) -> Download | Stop:
        """What an entry of the log was answered. Its plan is in the database."""
        self.flush()
        kept = log.recall(self.connection, ledger, place)
        server, entry = ledger.server, ledger.server.entries[place].entry
        reply: Download | Stop
        asked = None if kept is None else {server.arms[arm] for arm in kept.arms}
        # Nothing was to be done then, or all of it was withdrawn since.
        waits = asked is not None and asked.isdisjoint(server.method.problem.arms) and not server.over
        if waits and isinstance(entry, FromSite) and server.last[entry.agent] == place:
            reply = ledger.answer_now(entry.agent, self._silent(ledger)).reply  # there may be something now
            kept, plan = None, reply.plan
        else:
            reply, plan = ledger.answer(place, kept)
        if kept is None and plan is not None:
            log.keep_plan(self.connection, ledger, place, plan)
        return reply

    def _silent(self, ledger: Ledger) -> list[str]:
        if ledger.study.problem.budget is None:
            return []
        since, seen = clock.write(self.now - SILENT), self.seen.get(ledger.study.id, {})
        return [agent for agent in ledger.silent(since) if seen.get(agent, "") < since]


def _refused(ledger: Ledger, entry: Entry, error: ProtocolError) -> Refused:
    if isinstance(error, Over):
        return _closed(ledger) if isinstance(entry, FromSite) else Refused(str(error), "closed", 409)
    return Refused(str(error), "conflict" if isinstance(error, Conflict) else "gap", 409)


def _closed(ledger: Ledger) -> Refused:
    """What a site is told whose study was closed by a person."""
    close = next(one.entry for one in reversed(ledger.happened) if isinstance(one.entry, Close))
    why = f" ({close.reason})" if close.reason else ""
    return Refused(CLOSED.format(name=ledger.study.name, why=why), "closed", 409)
