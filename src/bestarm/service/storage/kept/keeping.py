"""Writes down what logs have led to, now and then and at the end, so that nobody has to read a whole log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bestarm.errors import Refused
from bestarm.service.storage.kept import snapshots
from bestarm.service.storage.kept.packing import gather, pack
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.overview import Charter

Row = dict[str, Any]


class Keeper:
    """Gathers states in the writer's thread and packs them in another.

    `write` writes rows before all else that waits to be written, or what is known would get ahead of what is
    kept whenever there is much to do. `look_again` has the writer look at a study that may be due once more.
    """

    def __init__(
        self,
        background: Callable[[Callable[[], None]], None],
        write: Callable[[list[Row]], None],
        look_again: Callable[[Charter], object],
        report: Callable[[str, Exception], None],
    ) -> None:
        self._background, self._write, self._look_again, self._report = background, write, look_again, report
        self._under_way: set[int] = set()  # studies whose state is being written down
        self._unwritten: set[int] = set()  # studies whose state was gathered, and is not known to be written

    def keep(self, ledger: Ledger) -> bool:
        """Write down what a log has led to, if it is time; called by the writer after a commit."""
        study = ledger.study
        if study.id in self._under_way or not snapshots.is_due(ledger):
            return False
        rows = self._rows(ledger)
        if rows:
            self._under_way.add(study.id)
            self._unwritten.add(study.id)
            self._background(lambda: self._pack_and_write(study, rows))
        return True

    def at_the_end(self, ledgers: Iterable[Ledger]) -> list[Row]:
        """What is worth being written down when nobody works with these ledgers any more."""
        due = [
            ledger
            for ledger in ledgers
            if ledger.study.id in self._unwritten or snapshots.is_due(ledger, at_the_end=True)
        ]
        return [packed(row) for ledger in due for row in self._rows(ledger)]

    def write_down(self, rows: list[Row]) -> bool:
        """Pack and write, and whether it was done; a failure is reported, and another state will be written."""
        try:
            self._write([packed(row) for row in rows])
        except Refused:
            return False  # the storage is being closed, or away
        except Exception as error:
            self._report("a state was not written down", error)
            return False
        return True

    def _rows(self, ledger: Ledger) -> list[Row]:
        try:
            parts = frozen(ledger)
        except Exception as error:  # of a test from elsewhere, whose state is of another kind
            self._report(f"the state of study {ledger.study.name!r} can't be kept", error)
            parts = []
        ledger.kept_at, ledger.seconds = ledger.length, 0.0
        return [snapshots.row_of(ledger, kind, ledger.length, data) for kind, data in parts]

    def _pack_and_write(self, study: Charter, rows: list[Row]) -> None:
        try:
            if self.write_down(rows):
                self._unwritten.discard(study.id)
        finally:
            self._under_way.discard(study.id)
        self._look_again(study)


def frozen(ledger: Ledger) -> list[tuple[str, bytes]]:
    """What is written down of a ledger: of which kind it is, and the bytes."""
    values = ledger.freeze()
    parts = [(snapshots.STATE, gather(values))]
    if ledger.study.method.recipe.sends_total:
        total = {name: values["server"][name] for name in ("pulls", "sums", "squares")}
        parts.append((snapshots.TOTAL, gather(total)))
    return parts


def packed(row: Row) -> Row:
    """A row whose data are compressed."""
    return row | {"data": pack(row["data"], snapshots.about(row))}
