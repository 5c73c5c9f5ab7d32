"""A ledger outside of a storage, with the rows that a storage would write, for those who look closely."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from bestarm.protocol.entries import Entry, FromSite, Upload
from bestarm.protocol.past import Memory
from bestarm.service.storage.rows.log import as_upload, body_text, entry_of
from bestarm.service.storage.study.judgement import judged
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.looking import Looker
from bestarm.service.storage.study.overview import Beside, Charter, Judged, Overview


class Followed:
    """A study in memory, and where more about it comes from."""

    def __init__(self, study: Charter) -> None:
        self.ledger, self.looker = Ledger(study), Looker()
        self.ledger.server.past = Memory()
        self.rows: list[Any] = []

    def append(self, entry: Entry, received_at: str, size: int = 100, asked: int | None = None) -> None:
        body = body_text(entry, self.ledger.server.arms)
        said = self.ledger.append(entry, received_at, size, asked)
        row = SimpleNamespace(
            kind=entry.word,
            body=body,
            said=said,
            position=self.ledger.length,
            agent=entry.agent if isinstance(entry, FromSite) else None,
            sequence=entry.sequence if isinstance(entry, Upload) else None,
            received_at=received_at,
        )
        self.rows.append(row)

    def overview(self) -> Overview:
        return self.ledger.overview({}, self)

    def beside(self, overview: Overview) -> Beside:
        def rows(after: int, length: int) -> Iterator[Any]:
            return iter(self.rows[after:length])

        self.looker.look(overview.fold, overview.changed_at, overview.length, rows)
        return self.looker.found(overview.method, overview.known, overview.verdict)

    def lately(self, overview: Overview) -> list[tuple[Judged, Upload]]:
        uploads = [row for row in self.rows if row.kind == Upload.word][-25:]
        return [
            (judged(row, overview.arms, overview.stopped_at), as_upload(entry_of(row, overview.arms)))
            for row in uploads
        ]
