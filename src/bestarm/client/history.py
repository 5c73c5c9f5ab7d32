"""What a site has told, as rows: for people, for programs, for pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex, overload

from bestarm import notebook
from bestarm.client.memory.journal import Journal
from bestarm.client.memory.past import Change, Told
from bestarm.tables import to_pandas

COLUMNS = (
    "trial",
    "counts",
    "item",
    "arm",
    "pulls",
    "reward",
    "measurements",
    "batch",
    "state",
    "told_at",
    "was",
    "reason",
    "corrected_at",
    "answer",
)
UNSENT, SENT, WAITING = "unsent", "sent", "correction unsent"


class History(list[dict[str, Any]]):
    """A row for each trial that was told, and for each arm of counts, newest last.

    `reward` is what counts now: of counts it is their sum. `measurements` are those of a trial with several.
    `was` is what was told before it was corrected, the oldest first. `state` is unsent, sent, or "correction
    unsent"; `answer` is what the server said to the last correction.
    """

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame."""
        return to_pandas(self, COLUMNS)

    @overload
    def __getitem__(self, place: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> History: ...

    def __getitem__(self, place: SupportsIndex | slice) -> dict[str, Any] | History:
        """A row; or some of them, which are a history too."""
        return History(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def _repr_html_(self) -> str:
        """A table of the columns that have something in them."""
        used = [name for name in COLUMNS if any(row[name] not in (None, "", []) for row in self)]
        rows = [["" if row[name] is None else row[name] for name in used] for row in self]
        return notebook.table(f"{len(self)} told", used, rows)


def history_of(journal: Journal, answered: int) -> History:
    """All that a journal knows; uploads after the so many answered ones are not surely at the server."""
    changes = list(journal.past.changes())
    rows = [*_trials(journal, changes, answered), *_counts(journal, changes, answered)]
    rows.sort(key=lambda row: (row["batch"] is None, row["batch"] or 0))  # the order within a batch stays
    return History(rows)


def _trials(journal: Journal, changes: list[Change], answered: int) -> Iterator[dict[str, Any]]:
    of: dict[int, list[Change]] = {}
    for change in changes:
        of.setdefault(change.trial, []).append(change)
    for told in [*journal.past.told(), *journal.told()]:
        yield _row(
            of.get(told.trial, []),
            answered,
            trial=told.trial,
            item=journal.items.label(told.item) if told.item else None,
            arm=told.arm,
            pulls=1,
            reward=told.reward,
            measurements=list(told.measured) or None,
            batch=_batch(told),
            told_at=told.at,
        )


def _batch(told: Told) -> int | None:
    """The number of its upload; None while it has none, 0 where an earlier version did not write it down."""
    return None if told.sequence == 0 else max(told.sequence, 0)


def _counts(journal: Journal, changes: list[Change], answered: int) -> Iterator[dict[str, Any]]:
    for told in journal.all_counted():
        mine = [change for change in changes if not change.trial and change.name == told.name and told.name]
        for arm, row in told.counts.items():
            yield _row(
                mine,
                answered,
                counts=told.name,
                arm=arm,
                pulls=row[0],
                reward=row[1],
                batch=told.sequence,
                told_at=told.at,
            )


def _row(changes: list[Change], answered: int, **known: Any) -> dict[str, Any]:
    """A row in which every column is there."""
    batch, last = known["batch"], changes[-1] if changes else None
    state = UNSENT if batch is None or batch > answered else SENT
    if state is SENT and any(change.waits for change in changes):
        state = WAITING
    more = {
        "state": state,
        "was": [_was(change.was, known["arm"]) for change in changes] or None,
        "reason": None if last is None else last.reason,
        "corrected_at": None if last is None else last.at,
        "answer": None if last is None else last.answer or None,
    }
    return {name: (known | more).get(name) for name in COLUMNS}


def _was(was: Any, arm: str) -> Any:
    """What a row was: a reward, measurements, or the sum of an arm's counts."""
    return was.get(arm, [0, None])[1] if isinstance(was, dict) else was
