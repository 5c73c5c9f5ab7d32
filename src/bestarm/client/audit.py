"""Whether the server's log still has what a site sent, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bestarm.client.memory.receipts import Receipt
from bestarm.client.server.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Audit:
    """What came out: how many uploads were compared, and what is wrong with some, a sentence each.

    `unknown` are uploads before those, of which the journal has no receipts.
    """

    uploads: int
    unproven: int
    wrong: tuple[str, ...]
    unknown: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    def __str__(self) -> str:
        """All of it in a sentence or two.

        >>> print(Audit(2, 0, ()))
        The server's log has all 2 uploads of this site, as sent.
        >>> print(Audit(0, 0, (), 1))
        The journal has no receipt of the one upload that was sent before, so it was not compared.
        """
        if self.wrong:
            return " ".join(self.wrong)
        if not self.uploads:
            return self._unknown or "This site has sent nothing yet."
        many = f"all {self.uploads:,} uploads" if self.uploads > 1 else "the one upload"
        if self.unknown:
            many = f"the last {self.uploads:,} uploads" if self.uploads > 1 else "the last upload"
        before = f" {self.unproven:,} of them have no receipt, and were compared by what they say."
        said = f"The server's log has {many} of this site, as sent." + before * bool(self.unproven)
        return f"{said} {self._unknown}".rstrip()

    @property
    def _unknown(self) -> str:
        if not self.unknown:
            return ""
        they = f"{self.unknown:,} uploads that were sent before, so they were"
        if self.unknown == 1:
            they = "one upload that was sent before, so it was"
        return f"The journal has no receipt of the {they} not compared."


def audit(exchange: Exchange) -> Audit:
    """Compare every receipt of a journal with the server's log."""
    with exchange.lock:
        receipts = list(exchange.journal.receipts.after(0))
    log = _log(exchange)
    wrong = []
    for receipt in receipts:
        sentence = _compare(receipt, log.pop(receipt.sequence, None))
        if sentence:
            wrong.append(sentence)
    known = {one.sequence for one in receipts}
    with exchange.lock:
        sent = exchange.answered + exchange.journal.sent
    for sequence in sorted(number for number in log if number > sent and number not in known):
        wrong.append(f"Upload {sequence} is in the log, and this site did not send it.")
    unknown = sum(1 for number in log if number <= sent and number not in known)
    return Audit(len(receipts), sum(not one.digest for one in receipts), tuple(wrong), unknown)


def _log(exchange: Exchange) -> dict[int, dict[str, Any]]:
    return {one["sequence"]: one for one in _pages(exchange)}


def _pages(exchange: Exchange) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        found = exchange.connection.call("GET", f"{exchange.place()}/receipts?after={after}")["uploads"]
        if not found:
            return
        yield from found
        after = found[-1]["sequence"]


def _compare(receipt: Receipt, found: dict[str, Any] | None) -> str:
    """What is wrong with an upload, in a sentence; nothing if it is as it was sent."""
    number = receipt.sequence
    if found is None:
        return f"Upload {number} is not in the server's log any more."
    if found["tally"] != receipt.body["tally"]:
        return f"Upload {number} says something else in the server's log than this site sent."
    if receipt.digest and (found["entry"], found["digest"]) != (receipt.entry, receipt.digest):
        return (
            f"Upload {number} stands in the log as it was sent, but not where it stood, or what stands before "
            "it was changed: its receipt is of another log."
        )
    return ""
