"""One transaction on studies and their logs, whatever the verbs in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from bestarm.core.tally import Tally
from bestarm.errors import Refused, ServiceError
from bestarm.protocol.admission import check
from bestarm.protocol.entries import Close, Correction, Entry, FromSite, Join, Reopen, Upload
from bestarm.protocol.fold import Fold
from bestarm.protocol.messages import Conflict, Download, Gap, Over, ProtocolError, Stop
from bestarm.protocol.past import Logged
from bestarm.protocol.server import CHANGES_THE_PAST, same_entry
from bestarm.service.storage import clock
from bestarm.service.storage.kept import snapshots
from bestarm.service.storage.rows import log, plans, studies
from bestarm.service.storage.rows.tables import studies as study_rows
from bestarm.service.storage.rows.tokens import new_id
from bestarm.service.storage.study.joining import news
from bestarm.service.storage.study.judgement import number_in
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.overview import Charter, Overview, Source
from bestarm.service.storage.study.taken import Taken
from bestarm.verdict import Reason

CLOSED = "study {name!r} is closed{why}; ask its administrator to reopen it."
SILENT = timedelta(days=1)  # after which what a site was asked for is not kept free of the budget for it
EXTREME = "upload: its numbers, added to what is known, are too large to compute with."
GONE = "the study is not in the storage any more; if an older copy was put in its place, restart the server."
LOCK = select(study_rows.c.id).where(study_rows.c.id == bindparam("study")).with_for_update()


GIVEN_OUT = select(study_rows.c.stopped_at, study_rows.c.verdict).where(study_rows.c.id == bindparam("study"))


class Behind(Exception):
    """A study has to be read from its log, outside of the transaction; from a ledger, if there is one."""

    def __init__(self, study: Charter, ledger: Ledger | None) -> None:
        super().__init__(study.name)
        self.study, self.ledger = study, ledger


class Prepare(Exception):
    """A log has to be read anew, outside of the transaction, with an entry applied that changes its past.

    `fold` is the new reading, to which the first `uploads` are to be added, of sites with these `numbers`. It
    is good for as long as no other entry has changed the past.
    """

    def __init__(
        self, study: Charter, fold: Fold, changed_at: int, uploads: int, numbers: dict[str, int]
    ) -> None:
        super().__init__(study.name)
        self.study, self.fold, self.changed_at = study, fold, changed_at
        self.uploads, self.numbers = uploads, numbers


class Unanswered(NamedTuple):
    """An entry that was taken, and is not written yet."""

    ledger: Ledger
    position: int
    entry: Entry
    sealed: log.Sealed
    said: str | None
    taken: Taken

    def row(self, plan: str | None) -> log.Written:
        """The row of it, with the plan that answers it."""
        return log.written(self.ledger.study.id, self.position, self.entry, self.sealed, plan, self.said)


class Work:
    """One transaction of the writer: the studies it touches, caught up with their logs, and rows to insert.

    A ledger leaves the memory when the transaction takes it and comes back after the commit, so a
    transaction that fails takes what it did to the ledger with it; one to which it has added nothing stays.
    `seen` is when a site last joined, whether it had anything new to say or not. A study whose deadline is past
    is closed by whoever touches it first.
    """

    def __init__(
        self,
        memory: dict[int, Ledger],
        connection: Connection,
        seen: dict[int, dict[str, str]],
        now: datetime,
        source: Source,
    ) -> None:
        self.memory = memory
        self.connection = connection
        self.seen = seen
        self.now = now
        self.ledgers: dict[int, Ledger] = {}
        self.touched: set[int] = set()  # studies to whose logs something was added
        self.reshelved: set[int] = set()  # studies with another name, or archived
        self._source = source
        self._unanswered: list[Unanswered] = []
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
        """The study, at the end of its log; `Behind` if that takes longer than a transaction may."""
        if study.id not in self.ledgers:
            ledger = self.memory.pop(study.id, None)
            if ledger is None:
                raise Behind(study, None)
            self._open(ledger)
            try:
                fits = log.catch_up(self.read, ledger)
            except log.FarBack:
                del self.ledgers[study.id]
                raise Behind(study, ledger) from None
            except BaseException:
                del self.ledgers[study.id]
                raise
            if not fits:
                del self.ledgers[study.id]
                raise Behind(study, None)
            self._end(ledger)
        self.ledgers[study.id].study = study  # what it is called now, as far as who asks knows
        return self.ledgers[study.id]

    def begin(self, study: Charter) -> None:
        """A study whose log has nothing yet."""
        self._open(Ledger(study))

    def _open(self, ledger: Ledger) -> None:
        ledger.server.past = log.Rows(self.read, ledger, self.flush)
        self.ledgers[ledger.study.id] = ledger

    def read(self, query: Any, values: Mapping[str, Any]) -> list[Any]:
        """The rows of a query."""
        return list(self.connection.execute(query, values).all())

    def look(self, study: Charter) -> Overview:
        """What is to be shown of a study."""
        ledger = self.ledger(study)
        self._answer()
        return ledger.overview(self.seen.get(study.id, {}), self._source)

    def take(self, study: Charter, upload: Upload, received_at: str) -> Taken:
        """Append an upload to the log of a study that is locked, or find it there."""
        ledger = self.ledger(study)
        new = upload.sequence > ledger.server.sequences.get(upload.agent, 0)
        row = None if new else self._past(ledger).row(upload.id)
        return self._add(ledger, upload, received_at) if row is None else self._again(ledger, upload, row)

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
            reply = server.stop()
        else:
            self.flush()
            row = self.read(log.FROM.limit(1), {"study": study.id, "first": server.last[join.agent] + 1})[0]
            reply = self._recall(ledger, row)
        self.seen.setdefault(study.id, {})[join.agent] = received_at
        return server.sequences.get(join.agent, 0), reply

    def set_closed(self, study: Charter, closed: bool, by: str, reason: str, received_at: str) -> None:
        """Close a study that is locked, or open it again; nothing happens if it is so already."""
        ledger = self.ledger(study)
        if closed != (ledger.server.closed is not None):
            id = new_id()
            entry = Close(id, by, reason=reason) if closed else Reopen(id, by, reason)
            self._add(ledger, entry, received_at)

    def change(self, study: Charter, entry: Entry, received_at: str, prepared: Prepare | None = None) -> int:
        """Append what somebody does to a study that is locked, or find it there; its position in the log.

        A long log is read again outside: that is `Prepare`, and what came of it is `prepared`.
        """
        ledger = self.ledger(study)
        row = self._past(ledger).row(entry.id)
        if row is not None:
            self._again(ledger, entry, row)
            return int(row.position)
        server, anew = ledger.server, None
        if prepared is not None and prepared.changed_at == ledger.changed_at:
            anew = prepared.fold
        unread = server.uploads - (0 if anew is None else anew.uploads)
        if isinstance(entry, CHANGES_THE_PAST) and unread > log.FEW:
            self._checked(ledger, entry)
            fold = server.known.changed(entry)
            raise Prepare(study, fold, ledger.changed_at, server.uploads, dict(server.numbers))
        self._add(ledger, entry, received_at, anew=anew)
        return ledger.length

    def flush(self) -> None:
        """Answer what was taken, and write its rows."""
        self._answer()
        if self._rows:
            log.append(self.connection, self._rows)
            self._rows = []

    def _checked(self, ledger: Ledger, entry: Entry) -> None:
        try:
            check(entry, ledger.server)
        except (Gap, Over) as error:
            raise _refused(ledger, entry, error) from None

    def _add(
        self,
        ledger: Ledger,
        entry: Entry,
        received_at: str,
        answered: bool = True,
        anew: Fold | None = None,
    ) -> Taken:
        """Append an entry; refused, with nothing changed, if it does not fit."""
        study, stopped_before = ledger.study, ledger.stopped_at
        body = log.body_text(entry, ledger.server.arms)
        self.touched.add(study.id)
        try:
            said = ledger.append(entry, received_at, len(body.encode()), anew=anew)
        except (Gap, Over) as error:
            raise _refused(ledger, entry, error) from None
        decided = None
        if ledger.stopped_at != stopped_before:
            decided = studies.verdict_text(ledger.server.verdict)
            change = study_rows.update().where(study_rows.c.id == study.id)
            self.connection.execute(change.values(stopped_at=ledger.stopped_at, verdict=decided))
        digest = ledger.seal(entry.word, body, received_at, decided)
        sealed = log.Sealed(body, received_at, decided, digest)
        taken = Taken(ledger.server.uploads, True, ledger.length, digest)
        unanswered = Unanswered(ledger, ledger.length, entry, sealed, said, taken)
        if answered:
            self._unanswered.append(unanswered)
        else:
            self._rows.append(unanswered.row(None))
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

        Plans are the costly part. So they are made from all that was taken together, and who was heard in the
        same moment in which the study came to its end hears of it.
        """
        unanswered, self._unanswered = self._unanswered, []
        for one in unanswered:
            server, entry, plan = one.ledger.server, one.entry, None
            if not isinstance(entry, FromSite):
                one.taken.answer = server.said_to(Logged(entry, one.position - 1, 0), None)
            elif server.over:
                one.taken.answer = server.stop()
            else:
                made = one.ledger.answer_now(entry.agent, self._silent(one.ledger))
                one.taken.answer = made.reply
                plan = one.ledger.keep_plan(entry.agent, made, one.position)
                server.asked[entry.agent] = made.plan.size
            self._rows.append(one.row(plan))

    def _past(self, ledger: Ledger) -> log.Rows:
        past = ledger.server.past
        assert isinstance(past, log.Rows)
        return past

    def _again(self, ledger: Ledger, entry: Entry, row: Any) -> Taken:
        """The answer that an entry got when it came first; refused if it is another one by the same id."""
        try:
            same_entry(log.entry_of(row, ledger.server.arms), entry)
        except Conflict as error:
            raise _refused(ledger, entry, error) from None
        uploads = 0 if row.said is None else number_in(row.said)
        return Taken(uploads, False, int(row.position), row.digest, self._recall(ledger, row))

    def _recall(self, ledger: Ledger, row: Any) -> Download | Stop:
        """What an entry of the log was answered: its plan is there.

        An entry that nobody has answered with one (version 0.1 sent none, and nobody waits for uploads that a
        study begins with) gets one now, which stays; after the end, the end.
        """
        server, study = ledger.server, ledger.study
        entry = log.entry_of(row, server.arms)
        place = int(row.position) - 1
        try:
            plan = plans.read(row.plan, server.arms, log.kept_at(self.read, study.id))
        except ValueError as error:
            raise ServiceError(
                f"study {study.name!r}: the plan at position {row.position} of its log can't be read: {error}"
            ) from None
        if not isinstance(entry, FromSite):
            return server.said_to(Logged(entry, place, 0), None)
        if plan is None and server.over:
            return server.stop()
        # Nothing was to be done then, or all of it was withdrawn since: there may be something now.
        arms = server.method.problem.arms
        waits = plan is None or {server.arms[arm] for arm in plan.arms}.isdisjoint(arms)
        if plan is None or (waits and not server.over and server.last[entry.agent] == place):
            made = ledger.answer_now(entry.agent, self._silent(ledger))
            kept = plans.keep(made.plan, server.arms)
            self.connection.execute(log.KEEP_PLAN, {"study": study.id, "at": row.position, "made": kept})
            if plan is not None or not study.method.recipe.sends_total:
                return made.reply
            plan = made.plan
        total = self._total(ledger, place) if study.method.recipe.sends_total else None
        return server.said_to(Logged(entry, place, 0, plan), total)

    def _total(self, ledger: Ledger, place: int) -> Tally:
        """The total after an entry: from the last one that was kept before it, with what came since then."""
        if place == ledger.length - 1:
            return ledger.server.total
        corrected = [one.position for one in ledger.happened if isinstance(one.entry, Correction)]
        since = max((position for position in corrected if position <= place + 1), default=0)
        start = snapshots.read_total(self.read, ledger, place, since)
        return log.total_at(self.read, ledger, place, start)

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
