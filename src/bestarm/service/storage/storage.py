"""Studies, their logs and the tokens, in SQLite or PostgreSQL: the same code, and the same promises.

Every verb that touches a study runs in the writer's transaction: the study's row is locked, rows of its log
that this process has not seen yet (another process wrote them) are replayed, the verb acts, the transaction
commits, and only then does anybody get an answer. What takes longer is done outside of transactions: a study is
read from the state that was kept last and the rows since then, by the loader, while its verbs wait and others
go on. When anything goes wrong, the studies to which the transaction has added something are read again, the
same way: memory is never trusted over the log.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, select
from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as NoConnection

from bestarm.errors import Refused, ServiceError, UserError
from bestarm.methods import Method
from bestarm.names import check_name
from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Correction,
    Join,
    Note,
    Renamed,
    Restored,
    TokenMade,
    TokenRevoked,
    Upload,
)
from bestarm.protocol.messages import Download, Stop
from bestarm.service.storage import clock
from bestarm.service.storage.counters import Counters
from bestarm.service.storage.failing import AWAY, LOCKED, first_line, locked, lost
from bestarm.service.storage.kept import snapshots
from bestarm.service.storage.kept.keeping import Keeper
from bestarm.service.storage.kept.loader import Loader
from bestarm.service.storage.kept.packing import gather
from bestarm.service.storage.pending import Pending
from bestarm.service.storage.reading import Reading
from bestarm.service.storage.rows import log, shelf, studies
from bestarm.service.storage.rows.database import Pen, open_engine, open_memory
from bestarm.service.storage.rows.schema import prepare
from bestarm.service.storage.rows.tables import tokens
from bestarm.service.storage.rows.tokens import Grant, Role, Token, hash_of, new_id, new_secret
from bestarm.service.storage.study.ledger import Ledger, Nowhere, OutOfRange
from bestarm.service.storage.study.looking import Looker
from bestarm.service.storage.study.overview import Beside, Charter, Overview
from bestarm.service.storage.study.taken import Taken
from bestarm.service.storage.work import EXTREME, Behind, Prepare, Work
from bestarm.service.storage.writer import Task, Writer

logger = logging.getLogger("bestarm.service")

T = TypeVar("T")
Grown = Callable[[Ledger], None]
LOOKED_BEHIND = 20_000  # uploads that nobody has looked at, until it is done for whoever comes


class Storage(Reading):
    """Keeps studies. What its verbs return is settled after the commit."""

    def __init__(self, url: str | None, *, now: clock.Clock = clock.now) -> None:
        """Open a storage by its URL; without one it is in this process's memory, and ends with it."""
        super().__init__(open_memory() if url is None else open_engine(url))
        self.now = now
        self.counters = Counters()
        self.grown: Grown = lambda ledger: None  # called by the writer after a commit
        self._ledgers: dict[int, Ledger] = {}
        self._read_lately: deque[tuple[int, Ledger]] = deque()  # by the loader, for the writer
        self._lookers: dict[int, Looker] = {}
        self._seen: dict[int, dict[str, str]] = {}
        self._pen = Pen(self.engine)
        try:
            with self._pen.transaction() as connection:
                prepare(connection)
        except DatabaseError as error:
            self.engine.dispose()
            raise ServiceError(f"storage: it can't be opened: {first_line(error)}.") from None
        except UserError:
            self.engine.dispose()
            raise
        self._writer = Writer(self._run)
        self._loader = Loader(self._rows, self._fill, self._loaded)
        self._keeper = Keeper(self._loader.background, self._write_states, self._look_again, self.report)

    def close(self) -> None:
        """Finish what was asked for, then let go of the database."""
        self._loader.leave_off()
        self._writer.close()
        self._loader.close()
        self._keep_all()
        self._pen.close()
        self.engine.dispose()

    def be_patient(self, seconds: float | None) -> None:
        """How long a verb waits for a study that must be read first, before it is refused as `loading`."""
        self._loader.patience = seconds

    @property
    def loading(self) -> int:
        """How many studies are being read from their logs."""
        return len(self._loader.studies)

    @property
    def waiting(self) -> int:
        """How many verbs wait for the next transaction."""
        return self._writer.waiting

    # Studies

    def create(self, method: Method, earlier: Sequence[Upload] = ()) -> Pending[Overview]:
        """A new study, named after its problem; refused if there is one of that name.

        `earlier` are the uploads that it begins with, checked. Nobody waits for an answer to them.
        """
        created_at = clock.write(self.now())
        row = studies.to_row(method) | {"created_at": created_at}

        def act(work: Work) -> Overview:
            study = shelf.add(work.connection, row)
            work.begin(study)
            work.begin_with(study, earlier, created_at)
            return work.look(study)

        return self._submit(act, None, writes=True)

    def rename(self, study: Charter, name: str, by: str) -> Pending[Overview]:
        """Call a study otherwise; the names that it had go on leading to it. Again is harmless."""
        check_name("the new name", name)
        id, received_at = new_id(), clock.write(self.now())

        def change(work: Work) -> None:
            ledger = work.ledger(study)  # before anything changes: it may have to be read first
            before = shelf.rename(work.connection, study.id, name)
            if before is not None:
                work.change(ledger.study, Renamed(id, by, before, name), received_at)

        return self._reshelve(study, change)

    def set_archived(self, study: Charter, archived: bool) -> Pending[Overview]:
        """Leave a study out of the lists, or put it back; again is harmless.

        That is not in its log: lists are nothing of the study's.
        """
        at = clock.write(self.now()) if archived else None
        return self._reshelve(study, lambda work: shelf.archive(work.connection, study.id, at))

    def _reshelve(self, study: Charter, change: Callable[[Work], None]) -> Pending[Overview]:
        def act(work: Work) -> Overview:
            change(work)
            work.reshelved.add(study.id)
            return work.look(shelf.read(work.connection, study.id))

        return self._submit(act, study, writes=True)

    def load(self, wait: bool = True) -> None:
        """Read the studies now rather than when they are first asked for. A damaged one is only reported."""
        for name in self.names(archived=False):
            try:
                study = self.find(name)
                assert study is not None
                looking = self.look(study)
                if wait:
                    looking.result()
            except ServiceError as error:
                logger.error("%s", error)

    def look(self, study: Charter) -> Pending[Overview]:
        """The study as it stands."""
        return self._submit(lambda work: work.look(study), study, writes=False)

    def set_closed(self, study: Charter, closed: bool, by: str, reason: str = "") -> Pending[Overview]:
        """Close a study to joins and uploads, or open it again; `by` is who does it."""
        received_at = clock.write(self.now())

        def act(work: Work) -> Overview:
            work.set_closed(study, closed, by, reason, received_at)
            return work.look(study)

        return self._submit(act, study, writes=True)

    def change(
        self, study: Charter, entry: Correction | ArmAdded | ArmWithdrawn | Restored | Note
    ) -> Pending[tuple[int, Overview]]:
        """Record what somebody does to a study: its position in the log, and the study after it."""
        received_at = clock.write(self.now())

        def act(work: Work) -> tuple[int, Overview]:
            position = work.change(study, entry, received_at, task.prepared)
            return position, work.look(study)

        task = Task(act, study.id, writes=True, charter=study)
        return self._writer.submit(task)

    def join(self, study: Charter, join: Join) -> Pending[tuple[int, Download | Stop]]:
        """An agent's last sequence, and its plan or the verdict; again is harmless."""
        received_at = clock.write(self.now())
        return self._submit(lambda work: work.join(study, join, received_at), study, writes=True)

    def take(self, study: Charter, upload: Upload) -> Pending[Taken]:
        """Record an upload and answer it; the same upload again gets the same answer."""
        received_at = clock.write(self.now())
        return self._submit(lambda work: work.take(study, upload, received_at), study, writes=True)

    def within(self, act: Callable[[Connection], T]) -> Pending[T]:
        """Do something else to the database, in a transaction of the writer."""
        return self._submit(lambda work: act(work.connection), None, writes=True)

    # Tokens

    def grant(self, grant: Grant, study: Charter | None, by: str) -> Pending[tuple[str, dict[str, Any]]]:
        """A new token: the secret, which is kept nowhere, and what may be shown of it.

        The log of its study says who made it, and for whom.
        """
        secret, id, made = new_secret(), new_id(), self.now()
        expires = None if grant.seconds is None else clock.write(made + timedelta(seconds=grant.seconds))
        row = {
            "id": id,
            "hash": hash_of(secret),
            "role": str(grant.role),
            "study_id": None if study is None else study.id,
            "agent": grant.agent,
            "created_at": clock.write(made),
            "expires_at": expires,
        }

        def act(work: Work) -> tuple[str, dict[str, Any]]:
            if study is not None:
                work.change(study, TokenMade(id, by, str(grant.role), grant.agent), clock.write(made))
            work.connection.execute(tokens.insert().values(**row))
            found = self._read_tokens(work.connection, tokens.c.id == row["id"])
            return secret, found[0].to_json()

        return self._submit(act, study, writes=True)

    def admit(self, secret: str | None) -> Pending[str | None]:
        """Make sure that an administrator can come in.

        A given secret becomes an administrator's token if it is none yet. Without one, a storage that has never
        had an administrator gets one, and the new secret is returned.
        """
        wanted = secret or new_secret()
        row = {
            "id": new_id(),
            "hash": hash_of(wanted),
            "role": str(Role.ADMIN),
            "created_at": clock.write(self.now()),
        }

        def act(work: Work) -> str | None:
            work.lock_tokens()
            which = tokens.c.role == str(Role.ADMIN) if secret is None else tokens.c.hash == row["hash"]
            if work.connection.execute(select(tokens.c.id).where(which)).first():
                return None
            work.connection.execute(tokens.insert().values(**row))
            return wanted

        return self._submit(act, None, writes=True)

    def revoke(self, token_id: str, study: Charter | None) -> Pending[Token]:
        """Make a token worthless; again is harmless. The last administrator's token is kept.

        It needs no log, which may be long or damaged: `note_revoked` comes after it.
        """
        revoked_at = clock.write(self.now())
        now = self.now()

        def act(work: Work) -> Token:
            work.lock_tokens()
            which = tokens.c.id == token_id
            if study is not None:
                which = which & (tokens.c.study_id == study.id)
            found = self._read_tokens(work.connection, which) if "\0" not in token_id else []
            if not found:
                raise Refused(f"there is no token {token_id[:20]!r} here.", "unknown-token", 404)
            if found[0].role is Role.ADMIN and found[0].valid(now):
                admins = self._read_tokens(work.connection, tokens.c.role == str(Role.ADMIN))
                if sum(token.valid(now) for token in admins) == 1:
                    sentence = "this is the last administrator's token; make another one first."
                    raise Refused(sentence, "last-admin", 409)
            if found[0].revoked_at is None:
                work.connection.execute(
                    tokens.update().where(tokens.c.id == token_id).values(revoked_at=revoked_at)
                )
            return self._read_tokens(work.connection, which)[0]

        return self._submit(act, None, writes=True)

    def note_revoked(self, token: Token, study: Charter, by: str) -> Pending[Any]:
        """Have the log of its study say who revoked a token; again is harmless, whoever it is."""
        entry = TokenRevoked(f"{token.id}/revoked", by, str(token.role), token.agent)
        received_at = clock.write(self.now())

        def act(work: Work) -> None:
            if not work.ledger(study).server.knows(entry):
                work.change(study, entry, received_at)

        return self._submit(act, study, writes=True)

    # Inside

    def _submit(self, act: Callable[[Work], Any], study: Charter | None, *, writes: bool) -> Pending[Any]:
        task = Task(act, None if study is None else study.id, writes, charter=study)
        return self._writer.submit(task)

    def _run(self, tasks: list[Task]) -> None:
        """Do the tasks in one transaction, or each in its own; called by the writer alone."""
        tasks = self._ready(tasks)
        if any(task.alone for task in tasks):
            for task in tasks:
                self._try(self._ready([task]))
        else:
            self._try(tasks)

    def _try(self, tasks: list[Task]) -> None:
        try:
            if tasks:
                self._commit(tasks)
        except Exception as error:
            # A lost connection has been dropped from the pool, and a row that another process was quicker to
            # insert can be read now: the transaction left no trace, so all of it may be done again. Who has
            # waited for a lock for as long as it is patient does not wait again.
            again = (lost(error) or isinstance(error, IntegrityError)) and not locked(error)
            if again and not all(task.tried for task in tasks):
                for task in tasks:
                    task.tried = True
                self._run(tasks)
            elif lost(error):
                self._fail(tasks, error)
            elif len(tasks) == 1:
                extreme = isinstance(error, OutOfRange)
                tasks[0].pending.settle(error=Refused(EXTREME, "refused", 422) if extreme else error)
            else:
                for task in tasks:  # whose fault it is shows when each is alone
                    task.alone = True
                self._run(tasks)

    def _ready(self, tasks: list[Task]) -> list[Task]:
        """The tasks whose studies are in memory; the others wait until they are."""
        while self._read_lately:
            study_id, ledger = self._read_lately.popleft()
            self._ledgers.setdefault(study_id, ledger)
        ready = []
        for task in tasks:
            if task.study is None or task.study in self._ledgers:
                ready.append(task)
            else:
                self._loader.load(task.charter, [task])
        return ready

    def _commit(self, tasks: list[Task]) -> None:
        outcomes: list[tuple[Task, Any, Exception | None]] = []
        waits: list[tuple[Task, Behind | Prepare]] = []
        work: Work | None = None
        try:
            with self.counters.commit(len(tasks)), self._pen.transaction() as connection:
                work = Work(self._ledgers, connection, self._seen, self.now(), self)
                work.lock({task.study for task in tasks if task.study is not None and task.writes})
                for task in tasks:
                    try:
                        outcomes.append((task, task.act(work), None))
                    except (Behind, Prepare) as missing:
                        waits.append((task, missing))
                    except (UserError, ServiceError) as refusal:
                        outcomes.append((task, None, refusal))
                work.flush()
        except BaseException:
            for ledger in () if work is None else work.ledgers.values():
                if work is not None and ledger.study.id not in work.touched:
                    self._ledgers[ledger.study.id] = ledger
            raise
        for ledger in work.ledgers.values():
            ledger.server.past = Nowhere()
            self._ledgers[ledger.study.id] = ledger
            self._arms[ledger.study.id] = ledger.server.arms
            self._restored[ledger.study.id] = ledger.server.restored
            self.grown(ledger)
            ledger.fresh.clear()
            if self._keeper.keep(ledger):
                self._look_ahead(ledger)
        for study_id in work.reshelved:
            self._shelf.forget(study_id)
        anew: dict[int, tuple[Prepare, list[Task]]] = {}
        for task, wait in waits:
            if isinstance(wait, Prepare):
                anew.setdefault(wait.study.id, (wait, []))[1].append(task)
            else:
                self._loader.load(wait.study, [task], wait.ledger)
        for wanted, changes in anew.values():
            self._loader.prepare(wanted, changes)
        for task, result, refused in outcomes:
            task.pending.settle(result, refused)

    def _fail(self, tasks: list[Task], error: Exception) -> None:
        self.report("the storage failed", error)
        sentence = LOCKED if locked(error) else AWAY
        for task in tasks:
            task.pending.settle(error=Refused(sentence, "storage", 503))

    # Beside the writer

    def _loaded(self, study_id: int, ledger: Ledger | None, tasks: list[Task]) -> None:
        """Called by the loader when it has read a study."""
        if ledger is not None:
            ledger.server.past = Nowhere()
            ledger.fresh.clear()
            self._read_lately.append((study_id, ledger))
        self._writer.again(tasks)

    def _fill(self, study_id: int, said: list[tuple[int, str]]) -> None:
        """Write down what was known after uploads of a log that an earlier version wrote."""
        rows = [{"study": study_id, "at": position, "known": known} for position, known in said]
        self._submit(lambda work: work.connection.execute(log.FILL, rows), None, writes=True).result()

    def _write_states(self, rows: list[dict[str, Any]]) -> None:
        """Called by the keeper; what waits for the writer waits for this."""
        task = Task(lambda work: snapshots.write(work.connection, rows), None, writes=True)
        self._writer.submit(task, first=True).result()

    def _look_again(self, study: Charter) -> None:
        """Called by the keeper: so much may have come meanwhile that the study is due once more."""
        with suppress(Refused):  # the storage is being closed
            self._submit(lambda work: work.ledger(study), study, writes=False)

    def _keep_all(self) -> None:
        """At the end: whoever opens the storage next has little to read."""
        rows = self._keeper.at_the_end(self._ledgers.values())
        if rows:
            try:
                with self._pen.transaction() as connection:
                    snapshots.write(connection, rows)
            except (DBAPIError, NoConnection) as error:
                self.report("the last states were not written down", error)

    def _look_ahead(self, ledger: Ledger) -> None:
        """Follow what is seen beside a verdict before anybody wants to see it, if that is far behind."""
        looker = self._lookers.get(ledger.study.id)
        if ledger.server.uploads - (0 if looker is None else looker.position) > LOOKED_BEHIND:
            overview = ledger.overview({}, self)
            self._loader.background(lambda: self._follow_looking(overview))

    def _follow_looking(self, overview: Overview) -> None:
        try:
            self.beside(overview)
        except Exception as error:
            self.report("differences were not looked at", error)

    def beside(self, overview: Overview) -> Beside:
        """What is to be seen beside a study's verdict; called by whoever wants to see it."""
        study = overview.study
        looker = self._lookers.get(study.id)
        if looker is None:
            read = snapshots.read_look(self._rows, study, overview.method, overview.changed_at)
            looker = self._lookers.setdefault(study.id, read)
        before = looker.position
        rows = partial(self._span, study)
        looker.look(overview.fold, overview.changed_at, overview.length, rows)
        if looker.position - before > snapshots.ENTRIES:
            self._keep_look(looker, study)
        return looker.found(overview.method, overview.known, overview.verdict)

    def _span(self, study: Charter, after: int, length: int) -> Iterator[Any]:
        return self.entries(study, length, after)

    def _keep_look(self, looker: Looker, study: Charter) -> None:
        values = looker.freeze()
        rows = self._rows(snapshots.DIGEST, {"study": study.id, "position": values["position"]})
        if rows:
            row = snapshots.row_at(study, snapshots.LOOK, values["position"], rows[0][0], gather(values))
            self._keeper.write_down([row])
