"""Notices what happens to studies and tells it, in threads of its own: nobody who uploads ever waits for it.

What there is to tell follows from the logs, so nothing is lost if a server dies between a commit and the
telling: whoever looks next notices it. What was noticed is a row for each receiver, which servers that share a
storage claim one by one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import Connection

from bestarm.errors import ServiceError
from bestarm.service.storage import Storage, clock
from bestarm.service.storage.rows import news
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.overview import Charter, Overview
from bestarm.service.telling.happenings import happenings, is_new
from bestarm.service.telling.receiver import NotTold, Receiver

logger = logging.getLogger("bestarm.service")

PACE = 0.2  # seconds between two looks at what has grown
QUIET = 1.0  # seconds without an entry after which a study is looked at for warnings
OFTEN, FEW = (
    10.0,
    500,
)  # or after so many seconds, if so few entries are new: a look takes time for each
SCAN = 10.0  # seconds until all logs are looked at, for what other servers did and for deadlines
LEASE = timedelta(seconds=30)  # longer than a receiver takes that is not about to fail
LONGEST = timedelta(hours=1)  # between two tries
PATIENCE = timedelta(days=7)  # after which it is not tried again
RECENT = timedelta(days=7)  # archived studies with entries in this time are looked at too


class Grown(NamedTuple):
    """A study to look at: how long its log is, since when, and whether it was settled or closed."""

    study: Charter
    length: int
    at: float
    urgent: bool


class Looked(NamedTuple):
    """What a study was when it was last looked at; the mark changes when it is settled or closed."""

    length: int
    mark: tuple[int | None, int] | None
    at: float


class Teller:
    """Tells every receiver, once for all servers on a storage, what happens to its studies from now on."""

    def __init__(
        self,
        storage: Storage,
        receivers: Sequence[Receiver],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.storage = storage
        self._seconds = seconds
        self.receivers = receivers
        self._since: dict[str, str] = {}
        self._lock = threading.Lock()
        self._grown: dict[int, Grown] = {}
        self._looked: dict[int, Looked] = {}
        self._scanned = False
        self._known: set[tuple[int, str]] = set()
        self._deadlines: dict[int, Charter | None] = {}  # None: it is over
        self._stopped = threading.Event()
        self._notice = threading.Event()
        self._deliver = {receiver.key: threading.Event() for receiver in receivers}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to notice and to tell. What happened before a receiver was new is not told."""
        self.begin()
        usual = self.storage.grown

        def grown(ledger: Ledger) -> None:
            usual(ledger)
            self.grown(ledger)

        self.storage.grown = grown
        self._threads = [threading.Thread(target=self._notice_on, name="bestarm-notices", daemon=True)]
        self._threads += [
            threading.Thread(target=self._tell_on, args=(receiver,), name="bestarm-tells", daemon=True)
            for receiver in self.receivers
        ]
        for thread in self._threads:
            thread.start()

    def close(self, seconds: float = 1.0) -> None:
        """Stop. A slow receiver is not waited for: the next server tells it again, with the same id."""
        self._stopped.set()
        for event in (self._notice, *self._deliver.values()):
            event.set()
        for thread in self._threads:
            thread.join(seconds / len(self._threads))

    def begin(self) -> None:
        """Write down since when each receiver is told."""
        for receiver in self.receivers:
            begun = self.storage.within(partial(news.since, receiver=receiver.key, now=self.storage.now()))
            self._since[receiver.key] = begun.result()

    # Noticing

    def grown(self, ledger: Ledger) -> None:
        """A study may have grown; called by the writer after a commit, so it does next to nothing."""
        study, length = ledger.study, ledger.length
        looked = self._looked.get(study.id)
        if looked is not None and looked.length == length:
            return
        urgent = looked is None or looked.mark != (ledger.stopped_at, len(ledger.happened))
        with self._lock:
            self._grown[study.id] = Grown(study, length, self._seconds(), urgent)
        if urgent:
            self._notice.set()

    def scan(self) -> None:
        """Look for what other servers did, or this one before it was started, and for deadlines."""
        for one in self.storage.within(self._found).result():
            with self._lock:
                known = self._grown.get(one.study.id)
                if known is None or one.urgent or (known.length < one.length and not known.urgent):
                    self._grown[one.study.id] = one
        self._scanned = True

    def _found(self, connection: Connection) -> list[Grown]:
        now = self.storage.now()
        # What another server is busy with is looked at once it has not grown from one scan to the next.
        at = self._seconds() + (SCAN if self._scanned else -QUIET)
        found = []
        for study_id, length, last_at in news.lengths(connection):
            looked = self._looked.get(study_id)
            if (looked is not None and looked.length == length) or last_at < min(self._since.values()):
                continue
            study = news.study(connection, study_id)
            if study.archived and last_at < clock.write(now - RECENT):
                self._looked[study_id] = Looked(length, None, at)
            else:
                found.append(Grown(study, length, at, False))
        for study_id in news.with_deadlines(connection):
            if study_id not in self._deadlines:
                self._deadlines[study_id] = news.study(connection, study_id)
            waits = self._deadlines[study_id]
            if waits is not None and waits.problem.is_past(now):
                found.append(Grown(waits, 0, at, True))
        return found

    def notice(self) -> None:
        """Look at the studies that it is time for, and note what there is to tell."""
        while (study := self._next()) is not None:
            try:
                overview = self.storage.look(study).result()
            except ServiceError as error:  # its log is damaged; whoever asks for it is told the same
                logger.error("%s", error)
                with self._lock:
                    length = self._grown.pop(study.id).length
                    self._looked[study.id] = Looked(length, None, self._seconds())
                continue
            self._note(overview)
            if overview.verdict.reason is not None and study.id in self._deadlines:
                self._deadlines[study.id] = None
            mark = overview.stopped_at, len(overview.happened)
            with self._lock:
                self._looked[study.id] = Looked(overview.length, mark, self._seconds())
                if self._grown[study.id].length <= overview.length:
                    del self._grown[study.id]

    def _next(self) -> Charter | None:
        """A study that was settled or closed, or that can be looked at for warnings without holding it up."""
        with self._lock:
            for study_id, one in self._grown.items():
                now, looked = self._seconds(), self._looked.get(study_id)
                if one.urgent or now - one.at >= QUIET:
                    return one.study
                if looked is not None and now - looked.at >= OFTEN and one.length - looked.length <= FEW:
                    return one.study
        return None

    def _note(self, overview: Overview) -> None:
        """Write down what is new about a study, for every receiver."""
        study_id, now = overview.study.id, clock.write(self.storage.now())
        fresh = [one for one in happenings(overview, now) if (study_id, one.key) not in self._known]
        rows = []
        for one in fresh:
            for key, since in self._since.items():
                if is_new(one, overview, since):
                    id = token_hex(16)
                    body = json.dumps(one.to_json(overview, id), allow_nan=False, ensure_ascii=False)
                    row = {"receiver": key, "study_id": study_id, "event": one.key, "id": id, "body": body}
                    rows.append(row | {"noticed_at": now})
        if rows:
            self.storage.within(partial(news.add, rows=rows)).result()
            for event in self._deliver.values():
                event.set()
        self._known.update((study_id, one.key) for one in fresh)

    def _notice_on(self) -> None:
        scanned = -SCAN
        while not self._stopped.is_set():
            self._notice.clear()
            try:
                if time.monotonic() - scanned >= SCAN:
                    self.scan()
                    scanned = time.monotonic()
                self.notice()
            except Exception as error:  # the storage is away for a while
                self._report("what happens can't be noticed", error)
            self._stopped.wait(PACE)
            self._notice.wait(QUIET if self._grown else SCAN)

    # Telling

    def tell(self, receiver: Receiver) -> bool:
        """Tell the next of a receiver's news that is due; False if there is none."""
        claimed = partial(news.claim, receiver=receiver.key, now=self.storage.now(), lease=LEASE)
        row = self.storage.within(claimed).result()
        if row is None:
            return False
        try:
            receiver.tell(json.loads(row.body), row.body)
        except NotTold as error:
            at = again(row.tries, clock.read(row.noticed_at), self.storage.now())
            when = "it is not tried again" if at is None else f"again at {clock.write(at)}"
            logger.error("%s could not be told that %s: %s; %s", receiver.name, row.event, error, when)
            self.storage.within(partial(news.later, row=row, at=at)).result()
        else:
            self.storage.within(partial(news.told, row=row, now=self.storage.now())).result()
        return True

    def _tell_on(self, receiver: Receiver) -> None:
        woken = self._deliver[receiver.key]
        while not self._stopped.is_set():
            woken.clear()
            seconds = SCAN
            try:
                while not self._stopped.is_set() and self.tell(receiver):
                    pass
                due = self.storage.within(partial(news.next_due, receiver=receiver.key)).result()
                if due is not None:
                    seconds = (clock.read(due) - self.storage.now()).total_seconds()
            except Exception as error:  # the storage is away for a while
                self._report(f"{receiver.name} can't be told", error)
            woken.wait(min(max(seconds, 0.05), SCAN))

    def _report(self, what: str, error: Exception) -> None:
        if not self._stopped.is_set():
            self.storage.report(what, error)


def begin_telling(storage: Storage, receivers: Sequence[Receiver]) -> Teller:
    """A teller that is at work."""
    teller = Teller(storage, receivers)
    teller.start()
    return teller


def again(tries: int, noticed: datetime, now: datetime) -> datetime | None:
    """When to try once more after so many tries before: twice as late each time; None after a week.

    >>> from datetime import UTC
    >>> start = datetime(2027, 1, 1, tzinfo=UTC)
    >>> [(again(tries, start, start) - start).seconds for tries in (0, 1, 2, 20)]
    [1, 2, 4, 3600]
    >>> again(200, start, start + PATIENCE)
    """
    if now - noticed >= PATIENCE:
        return None
    return now + min(timedelta(seconds=2 ** min(tries, 20)), LONGEST)
