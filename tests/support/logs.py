"""What tests of the server share: everything that it knows, and random entries for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm import Download, Server, Stop, Tally, Upload
from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Close,
    Correction,
    Entry,
    Join,
    Renamed,
    Reopen,
    Restored,
    TokenMade,
    TokenRevoked,
    body_of,
)


def bits(state: Any) -> object:
    """A test's state, down to the last bit."""
    if isinstance(state, tuple):
        return tuple(map(bits, state))
    return np.asarray(state, dtype=getattr(state, "dtype", np.float64)).tobytes()


def tally_bits(tally: Tally) -> object:
    """Its columns, whatever the arms are that were not pulled."""
    return tuple(column.tobytes() for column in (tally.arms, tally.counts, tally.sums, tally.squares))


def said(entry: Entry, names: tuple[str, ...]) -> object:
    """An entry in plain values."""
    return entry.word, body_of(entry, names)


def everything(server: Server, plans: bool = True) -> dict[str, object]:
    """All that a server knows, by name."""
    names = server.arms
    return {
        "arms": names,
        "withdrawn": server.known.withdrawn,
        "arms now": server.method.problem.arms,
        "counted": server.method.setting.counted,
        "entries": [said(logged.entry, names) for logged in server.entries],
        "uploads": [logged.uploads for logged in server.entries],
        "plans": [logged.plan for logged in server.entries] if plans else None,
        "log": [said(upload, names) for upload in server.log],
        "corrected": {key: tally_bits(tally) for key, tally in server.known.corrected.items()},
        "sequences": dict(server.sequences),
        "sites": dict(server.sites),
        "state": bits(server.state),
        "total": tally_bits(server.total),
        "samples": server.samples,
        "verdict": server.verdict,
        "now": server.now,
        "stopped at": server.stopped_at,
        "closed": server.closed,
    }


def answer_bits(answer: Download | Stop) -> object:
    """An answer, down to the last bit."""
    if isinstance(answer, Stop):
        return answer
    total = None if answer.total is None else (answer.total.size, tally_bits(answer.total))
    return answer.problem, total, answer.plan, answer.arms


def changed(entry: Entry) -> Entry:
    """Another entry with the same id."""
    match entry:
        case Upload() | Correction():
            rows = {arm: [row[0] + 1, *row[1:]] for arm, row in entry.tally.rows.items()}
            return replace(entry, tally=Tally.from_rows(rows, entry.tally.size))
        case Join():
            return replace(entry, plate=(entry.plate or 0) + 1)
        case ArmAdded() | ArmWithdrawn() | Close() | Reopen() | Restored():
            return replace(entry, reason=entry.reason + " and more")
        case TokenMade() | TokenRevoked():
            return replace(entry, agent=f"{entry.agent} and others")
        case Renamed():
            return replace(entry, name=f"{entry.name}-again")


def uploads(fingerprint: str, batches: Iterable[tuple[str, Tally]]) -> list[Upload]:
    """Numbered uploads of some agents, in this order."""
    sequences: dict[str, int] = {}
    found = []
    for agent, tally in batches:
        sequences[agent] = sequences.get(agent, 0) + 1
        found.append(Upload(fingerprint, agent, sequences[agent], tally))
    return found
