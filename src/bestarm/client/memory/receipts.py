"""What a site keeps of its uploads: where the server's log has each of them, and the upload itself.

With it the site can check later that the log still has them, unchanged, and send again what a server has lost
that was put back from a backup.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KEPT = 10_000  # of the last uploads: the digest of the last one stands for all before it
SCHEMA = (
    "CREATE TABLE receipts (sequence INTEGER PRIMARY KEY, entry INTEGER NOT NULL, digest TEXT NOT NULL,"
    " body TEXT NOT NULL)",
    "CREATE TABLE restored (id TEXT NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """An upload, its place in the server's log, and the digest that stands there."""

    sequence: int
    entry: int
    digest: str
    body: Mapping[str, Any]


class Receipts:
    """The receipts of a journal; `run` executes a statement, within the caller's transaction if it writes."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run

    def keep(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Write down what a server answered to an upload; an older one gives no receipt."""
        entry, digest = answer.get("entry"), answer.get("digest")
        place = entry if isinstance(entry, int) and isinstance(digest, str) else 0
        row = [body["sequence"], place, digest if place else "", json.dumps(body)]
        self._run("INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?)", row)
        self._run("DELETE FROM receipts WHERE sequence <= ?", [body["sequence"] - KEPT])

    def after(self, sequence: int) -> Iterator[Receipt]:
        """Those after an upload, in their order."""
        query = "SELECT sequence, entry, digest, body FROM receipts WHERE sequence > ? ORDER BY sequence"
        for number, entry, digest, body in self._run(query, [sequence]).fetchall():
            yield Receipt(number, entry, digest, json.loads(body))

    def between(self, first: int, last: int) -> list[Receipt] | None:
        """Those of the uploads from one to another; None if some of them have none.

        An earlier version kept no receipts, and of very many uploads only the last are kept.
        """
        found = [one for one in self.after(first - 1) if one.sequence <= last]
        return found if [one.sequence for one in found] == list(range(first, last + 1)) else None

    def knows(self, restored: str) -> bool:
        """Whether this site has heard already that the log was put back then."""
        return self._run("SELECT 1 FROM restored WHERE id = ?", [restored]).fetchone() is not None

    def note(self, restored: str) -> None:
        """Write down that it has."""
        self._run("INSERT INTO restored VALUES (?)", [restored])
