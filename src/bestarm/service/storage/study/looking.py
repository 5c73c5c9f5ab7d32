"""What people see beside the verdict: differences between arms, and what is odd. No upload waits for it.

It follows the log in the database, in the thread of whoever wants to see it, a page at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bestarm.core.tally import Tally
from bestarm.differences import NOBODY, Comparisons, differences
from bestarm.methods.composed import Method, batch_of
from bestarm.oddities import Oddities
from bestarm.protocol.entries import Upload, entry_from
from bestarm.protocol.fold import Fold
from bestarm.service.storage.study.judgement import number_in
from bestarm.service.storage.study.overview import Beside
from bestarm.verdict import Verdict

Rows = Callable[[int, int], Iterator[Any]]  # of a log, after a position and up to another


class Looker:
    """Looks at every batch of a study once, and begins anew when an entry has changed the past."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.position = 0  # of the last entry that was looked at
        self.changed_at = -1  # of the entry that changed the past last, when it began
        self.arms: tuple[str, ...] = ()

    def look(self, fold: Fold, changed_at: int, length: int, rows: Rows) -> None:
        """Look at what the log has up to a length; `fold` says how its uploads are read."""
        with self._lock:
            if changed_at < self.changed_at:
                return  # somebody looked later, and has seen a newer log
            if changed_at > self.changed_at:
                self._begin(fold.method, changed_at)
            if self.position < length:
                for row in rows(self.position, length):
                    if row.kind == Upload.word:
                        self._see(row, fold)
                    self.position = row.position

    def found(self, method: Method, state: Any, verdict: Verdict) -> Beside:
        """What is to be seen now, in a study whose arms are still the same."""
        with self._lock, np.errstate(all="ignore"):
            if self.arms != method.problem.arms or self.comparisons is None:
                return Beside(items=self.items if self.arms == method.problem.arms else 0)
            leader, control = self._place(verdict.leader), method.problem.control
            other = verdict.challenger if control in (None, verdict.leader) else control
            return Beside(
                differences(method, state, leader, self.comparisons),
                self.oddities.found(self.comparisons),
                self.items,
                self.oddities.agreement(self.comparisons, leader, self._place(other)),
            )

    def _begin(self, method: Method, changed_at: int) -> None:
        self.position, self.changed_at, self.arms, self.items = 0, changed_at, method.problem.arms, 0
        self._places = {arm: place for place, arm in enumerate(self.arms)}
        self.comparisons: Comparisons | None = None
        self.oddities = Oddities(method)
        if method.test.inside_batches:
            control, turn = self._place(method.problem.control), method.pairs or 1.0
            self.comparisons = Comparisons(len(self.arms), control, turn)

    def _see(self, row: Any, fold: Fold) -> None:
        """One more batch."""
        upload = entry_from(row.kind, json.loads(row.body), fold.arms)
        assert isinstance(upload, Upload)
        tally: Tally = fold.said(upload)
        self.items += max(tally.counts, default=0)
        if self.comparisons is not None and tally.arms:
            leader = fold.arms[json.loads(row.said)[3]]
            with np.errstate(all="ignore"):
                batch = batch_of(tally, 0)
                self.oddities.add(batch, upload.agent, number_in(row.said), self.comparisons)
                self.comparisons.add(batch, self._place(leader))

    def _place(self, arm: str | None) -> int:
        """The number of an arm among those that there are now."""
        return self._places.get(arm or "", NOBODY)

    # What is kept of it

    def freeze(self) -> dict[str, Any]:
        """All that it knows, as plain values and arrays."""
        with self._lock:
            known = {"position": self.position, "changed_at": self.changed_at, "items": self.items}
            if self.comparisons is None:
                return known | {"comparisons": None}
            return known | {"comparisons": self.comparisons.freeze(), "oddities": self.oddities.freeze()}

    def thaw(self, method: Method, values: dict[str, Any]) -> None:
        """Go on from what was kept, in a study whose arms are the same."""
        with self._lock:
            self._begin(method, values["changed_at"])
            self.position, self.items = values["position"], values["items"]
            if self.comparisons is not None:
                self.comparisons.thaw(values["comparisons"])
                self.oddities.thaw(values["oddities"])
