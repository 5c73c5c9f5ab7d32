"""Reads long logs outside of any transaction, a page at a time, while others go on.

A study is read when it is first needed, or when what is known of it may be out of date: from the state that was
kept last, if it fits the log, and from there to the end. Whoever asked waits; if that takes too long, they are
told to come again, and so are those who come meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bestarm.errors import Refused, ServiceError
from bestarm.protocol.fold import Fold
from bestarm.service.storage.kept import snapshots
from bestarm.service.storage.rows import log, studies
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.overview import Charter
from bestarm.service.storage.work import GIVEN_OUT, GONE, Prepare
from bestarm.service.storage.writer import Task

AT_ONCE = 2  # logs that are read beside each other
LOADING = "study {name!r} is being read from its log; send it again in a moment."
STOPPING = "the server is stopping; send it again later."

Fill = Callable[[int, list[tuple[int, str]]], None]


class Loading(Refused):
    """A study that is not ready; `seconds` is when to come again."""

    def __init__(self, name: str, seconds: int = 2) -> None:
        super().__init__(LOADING.format(name=name), "loading", 503)
        self.seconds = seconds


@dataclass(eq=False)
class Reading:
    """A study that is being read, and who waits for it."""

    since: float
    waiting: list[Task] = field(default_factory=list)


class Loader:
    """Reads studies for the writer. `done` gets what was read, or None, and the tasks that waited for it."""

    def __init__(
        self, read: log.Read, fill: Fill, done: Callable[[int, Ledger | None, list[Task]], None]
    ) -> None:
        self._read, self._fill, self._done = read, fill, done
        self.patience: float | None = None  # seconds that a task waits for its study; None is for ever
        self._readings: dict[int, Reading] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._threads = ThreadPoolExecutor(AT_ONCE, "bestarm-loader")
        # Readings anew have a thread of their own: however many sites ask for, nobody's start waits for them.
        self._anew = ThreadPoolExecutor(1, "bestarm-anew")
        self._behind: dict[int, list[Task]] = {}  # studies that are read anew, and who waits for that

    @property
    def studies(self) -> list[int]:
        """The ids of the studies that are being read."""
        return list(self._readings)

    def load(self, study: Charter, tasks: list[Task], ledger: Ledger | None = None) -> None:
        """Read a study, from a ledger that is behind if there is one, and give the tasks back afterwards."""
        if self._closing:
            refuse(tasks, Refused(STOPPING, "stopping", 503))
            return
        with self._lock:
            reading = self._readings.get(study.id)
            if reading is None:
                reading = self._readings[study.id] = Reading(time.monotonic())
                self._threads.submit(self._work, study, reading, ledger)
            if not self._late(reading):
                reading.waiting += tasks
                return
        refuse(tasks, Loading(study.name))

    def prepare(self, wanted: Prepare, tasks: list[Task]) -> None:
        """Make a new reading of a log for the first of some tasks that change its past, then give all back.

        One at a time of a study: what the first changes, the next must read.
        """
        if self._closing:
            refuse(tasks, Refused(STOPPING, "stopping", 503))
            return
        first, *others = tasks
        with self._lock:
            waiting = self._behind.get(wanted.study.id)
            if waiting is not None:
                waiting += tasks
                return
            self._behind[wanted.study.id] = others
        self._anew.submit(self._prepare, wanted, first)

    def background(self, work: Callable[[], None]) -> None:
        """Do something beside all else."""
        if not self._closing:
            self._threads.submit(work)

    def leave_off(self) -> None:
        """Begin nothing more."""
        self._closing = True

    def close(self) -> None:
        """End; who waits is told so."""
        self._closing = True
        self._threads.shutdown()
        self._anew.shutdown()
        for reading in self._readings.values():
            refuse(reading.waiting, Refused(STOPPING, "stopping", 503))

    def _late(self, reading: Reading) -> bool:
        return self.patience is not None and time.monotonic() - reading.since > self.patience

    def _work(self, study: Charter, reading: Reading, ledger: Ledger | None) -> None:
        error: Exception | None = None
        try:
            ledger = self._follow(study, reading, ledger)
        except Exception as failed:
            ledger, error = None, failed
        with self._lock:
            del self._readings[study.id]
            waiting = reading.waiting
        if error is not None:
            refuse(waiting, error)
        else:
            self._done(study.id, ledger, waiting)

    def _follow(self, study: Charter, reading: Reading, ledger: Ledger | None) -> Ledger:
        """The study at the end of its log, a moment ago; its verdict is the one that was given out."""
        known = ledger or snapshots.read_ledger(self._read, study) or Ledger(study)
        known.server.past = log.Rows(self._read, known)
        while True:
            row = self._read(GIVEN_OUT, {"study": study.id})
            if not row:
                raise ServiceError(GONE)
            if not self._to_the_end(known, reading):
                known = Ledger(study)  # the log has lost what was there
                known.server.past = log.Rows(self._read, known)
                self._to_the_end(known, reading)
            stopped_at, verdict = row[0]
            if stopped_at is not None or known.stopped_at is None:
                studies.check_verdict(known, stopped_at, verdict)
                return known
            # Another server has stopped the study between the two questions: ask again.
            again = self._read(GIVEN_OUT, {"study": study.id})
            studies.check_verdict(known, *again[0])
            return known

    def _to_the_end(self, ledger: Ledger, reading: Reading) -> bool:
        while True:
            rows = self._read(log.FROM, {"study": ledger.study.id, "first": ledger.length})
            if ledger.length and (not rows or rows[0].digest != ledger.digest):
                return False
            missing = log.replay(ledger, rows[1:] if ledger.length > 0 and rows else rows)
            if missing:
                self._fill(ledger.study.id, missing)
            if len(rows) < log.TOGETHER:
                return True
            self._check(reading, ledger.study)

    def _check(self, reading: Reading, study: Charter) -> None:
        """Between two pages: whether anybody has waited for too long."""
        if self._closing:
            raise Refused(STOPPING, "stopping", 503)
        if self._late(reading):
            with self._lock:
                waiting, reading.waiting = reading.waiting, []
            refuse(waiting, Loading(study.name))

    def _prepare(self, wanted: Prepare, task: Task) -> None:
        error: Exception | None = None
        try:
            fold: Fold = wanted.fold
            rows = log.uploads_after(self._read, wanted.study.id, 0)
            for row in rows:
                if fold.uploads == wanted.uploads:
                    break
                upload = log.entry_of(row, fold.arms)
                fold.add(log.as_upload(upload), wanted.numbers[row.agent])
                if fold.uploads % log.TOGETHER == 0 and self._closing:
                    raise Refused(STOPPING, "stopping", 503)
        except Exception as failed:
            error = failed
        with self._lock:
            waiting = self._behind.pop(wanted.study.id)
        if error is None:
            task.prepared = wanted
            waiting.insert(0, task)
        else:
            refuse([task], error)
        self._done(wanted.study.id, None, waiting)


def refuse(tasks: list[Task], error: Exception) -> None:
    """Tell those who wait."""
    for task in tasks:
        task.pending.settle(error=error)
