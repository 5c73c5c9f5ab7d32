"""What a site has told: its raw rewards with their batches, and what was corrected since. The journal keeps it.

A reward stands as it was told, and a correction beside it. One of a batch that the server may have is a message
to it, the batch's whole tally made anew from the raw rewards, and waits here for its answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.protocol.in_hand import InHand
from bestarm.protocol.terms import Terms

KEPT = 100_000  # told trials that are remembered after their batch was answered, about 8 MB
SCHEMA = (
    "CREATE TABLE told (position INTEGER PRIMARY KEY, trial INTEGER NOT NULL UNIQUE, item INTEGER NOT NULL,"
    " arm TEXT NOT NULL, reward REAL NOT NULL, measured TEXT NOT NULL, sequence INTEGER NOT NULL,"
    " at TEXT NOT NULL)",
    "CREATE INDEX told_of_arm ON told (arm)",
    "CREATE INDEX told_of_batch ON told (sequence)",
    "CREATE TABLE answered (sequence INTEGER PRIMARY KEY, plan TEXT NOT NULL, name TEXT NOT NULL,"
    " counts TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE TABLE corrections (number INTEGER PRIMARY KEY, trial INTEGER NOT NULL, name TEXT NOT NULL,"
    " was TEXT NOT NULL, now TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,"
    " sequence INTEGER NOT NULL, body TEXT NOT NULL, answer TEXT NOT NULL)",
    "CREATE INDEX corrections_of_trial ON corrections (trial)",
)
Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Told:
    """A reward as it counts now, and where it belongs; `sequence` is 0 as long as it is in no upload.

    `measured` are the single measurements, if there were several. `sequence` is −1 where a journal of an
    earlier version did not write it down.
    """

    trial: int
    arm: str
    reward: float
    item: int = 0
    measured: tuple[float, ...] = ()
    sequence: int = 0
    at: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts that were told, arm by arm, as they count now."""

    name: str
    counts: dict[str, list[Any]]
    sequence: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What was corrected: of a trial, or of the counts of this name. `answer` is the server's sentence."""

    trial: int
    name: str
    was: Any
    now: Any
    reason: str
    at: str
    waits: bool
    answer: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A correction that waits for the server's answer."""

    number: int
    sequence: int
    body: dict[str, Any]


def plan_of(download: dict[str, Any]) -> Plan:
    """The plan in the line for a download."""
    return Plan(tuple(download["arms"]), tuple(download["counts"]), tuple(download.get("rivals", ())))


def tally_of(plan: Plan, told: Sequence[Told], terms: Terms) -> Tally:
    """What a batch adds up to, from its raw rewards, as it was added up the first time.

    >>> terms = Terms("ligands", ("A", "B"), "18566d70caa08ade", sigma=0.3)
    >>> tally_of(Plan((0,), (2,)), [Told(1, "A", 0.5), Told(2, "A", 0.25)], terms).to_json(terms.arms)
    {'A': [2, 0.75]}
    """
    batch = InHand(0, plan, terms.items)
    for one in told:
        batch.add(one.trial, terms.arms.index(one.arm), one.reward, terms, one.item)
    return batch.tally(terms)


class Past:
    """The tables of what was told; `run` executes a statement, within the caller's transaction if it writes."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def keep(self, batch: int, sequence: int, plan: str) -> None:
        """A batch of the journal was answered: its rewards stay, with what is needed to add them up again."""
        self._run(
            "INSERT INTO told (trial, item, arm, reward, measured, sequence, at)"
            " SELECT told.trial, CAST(asked.body AS INTEGER), told.arm, told.reward, told.body, ?, told.at"
            " FROM batch told JOIN batch asked ON asked.trial = told.trial AND asked.event = 'asked'"
            " WHERE told.event = 'told' AND told.batch = ? ORDER BY told.position",
            [sequence, batch],
        )
        counted = "SELECT arm, body, at FROM batch WHERE event = 'counted' AND batch = ?"
        name, counts, at = self._run(counted, [batch]).fetchone() or ("", "", "")
        self._run("INSERT INTO answered VALUES (?, ?, ?, ?, ?)", [sequence, plan, name, counts, at])
        (last,) = self._run("SELECT max(trial) FROM told").fetchone()
        # A batch that was begun later may have been sent before; whole ones go, so that each can be added up.
        oldest = self._run("SELECT min(sequence) FROM told WHERE trial > ?", [(last or 0) - KEPT]).fetchone()
        if oldest[0] is not None:
            self._run("DELETE FROM told WHERE sequence < ?", oldest)
            self._run("DELETE FROM answered WHERE counts = '' AND sequence < ?", oldest)

    def told(self) -> Iterator[Told]:
        """Every reward of answered batches, oldest first."""
        query = "SELECT trial, arm, reward, item, measured, sequence, at FROM told ORDER BY position"
        return iter(self._as_corrected(self._run(query)))

    def of_batch(self, sequence: int) -> list[Told]:
        """The rewards of one of them, in the order in which they were told."""
        query = (
            "SELECT trial, arm, reward, item, measured, sequence, at FROM told WHERE sequence = ?"
            " ORDER BY position"
        )
        return self._as_corrected(self._run(query, [sequence]))

    def find(self, trial: int) -> Told | None:
        """One of them."""
        query = "SELECT trial, arm, reward, item, measured, sequence, at FROM told WHERE trial = ?"
        found = self._as_corrected(self._run(query, [trial]))
        return found[0] if found else None

    def rewards(self, arm: str | None, most: int, leave_out: int = 0) -> list[float]:
        """The last rewards of an arm, or of all, but for that of a trial."""
        query = "SELECT trial, arm, reward, item, measured, sequence, at FROM told"
        if arm is None:
            rows = self._run(f"{query} ORDER BY position DESC LIMIT ?", [most])
        else:
            rows = self._run(f"{query} WHERE arm = ? ORDER BY position DESC LIMIT ?", [arm, most])
        return [one.reward for one in self._as_corrected(rows) if one.trial != leave_out]

    def counted(self) -> Iterator[Counted]:
        """All counts of answered batches."""
        rows = self._run("SELECT name, counts, sequence, at FROM answered WHERE counts <> '' ORDER BY sequence")
        for name, counts, sequence, at in rows.fetchall():
            yield Counted(name, self.counts_now(name, counts), sequence, at)

    def counts_now(self, name: str, told: str) -> dict[str, list[Any]]:
        """Counts as they were corrected."""
        last = "SELECT now FROM corrections WHERE trial = 0 AND name = ? ORDER BY number DESC LIMIT 1"
        row = self._run(last, [name]).fetchone()
        counts: dict[str, list[Any]] = json.loads(told if row is None or not name else row[0])
        return counts

    def plan(self, sequence: int) -> Plan | None:
        """The plan that an answered batch had."""
        row = self._run("SELECT plan FROM answered WHERE sequence = ?", [sequence]).fetchone()
        return None if row is None or not row[0] else plan_of(json.loads(row[0]))

    # Corrections

    def correct(
        self, told: Told | Counted, now: Any, reason: str, at: str, agent: str, tally: Any = None
    ) -> None:
        """Write a correction down; with a tally it is a message to the server, which waits for its answer."""
        (last,) = self._run("SELECT coalesce(max(number), 0) FROM corrections").fetchone()
        trial, name = (told.trial, "") if isinstance(told, Told) else (0, told.name)
        was: Any = told.counts if isinstance(told, Counted) else list(told.measured) or told.reward
        body = ""
        if tally is not None:
            message = {
                "id": f"{agent}/{told.sequence}/fix/{last + 1}",
                "agent": agent,
                "sequence": told.sequence,
                "tally": tally,
                "reason": reason,
            }
            body = json.dumps(message)
        self._run(
            "INSERT INTO corrections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
            [
                last + 1,
                trial,
                name,
                json.dumps(was),
                json.dumps(now),
                reason,
                at,
                told.sequence if body else 0,
                body,
            ],
        )

    def waiting(self) -> list[Fix]:
        """Corrections that the server has not acknowledged, oldest first."""
        rows = self._run(
            "SELECT number, sequence, body FROM corrections WHERE body <> '' AND answer = '' ORDER BY number"
        )
        return [Fix(number, sequence, json.loads(body)) for number, sequence, body in rows.fetchall()]

    def acknowledge(self, number: int, answer: Mapping[str, Any]) -> None:
        """The server has a correction."""
        self._run("UPDATE corrections SET answer = ? WHERE number = ?", [json.dumps(answer), number])

    def send_again(self) -> None:
        """Corrections that a server had, and may have lost, wait once more; it takes none of them twice."""
        self._run(
            "UPDATE corrections SET answer = '' WHERE body <> '' AND answer NOT LIKE '%\"refused\": true%'"
        )

    def changes(self) -> Iterator[Change]:
        """Everything that was corrected, oldest first."""
        rows = self._run(
            "SELECT trial, name, was, now, reason, at, body, answer FROM corrections ORDER BY number"
        )
        for trial, name, was, now, reason, at, body, answer in rows.fetchall():
            sentence = str(json.loads(answer).get("sentence") or "") if answer else ""
            waits = bool(body) and not answer
            yield Change(trial, name, json.loads(was), json.loads(now), reason, at, waits, sentence)

    def corrected(self) -> dict[int, Any]:
        """What was told last of each trial that was corrected."""
        rows = self._run("SELECT trial, now FROM corrections WHERE trial > 0 ORDER BY number")
        return {trial: json.loads(now) for trial, now in rows.fetchall()}

    def _as_corrected(self, rows: Any) -> list[Told]:
        found = rows.fetchall()
        corrected = self.corrected() if found else {}
        return [as_corrected(told_in(row), corrected) for row in found]


def as_corrected(told: Told, corrected: Mapping[int, Any]) -> Told:
    """A reward as it counts now."""
    if told.trial not in corrected:
        return told
    reward, measured = counts_as(corrected[told.trial])
    return replace(told, reward=reward, measured=measured)


def counts_as(measured: float | Sequence[float]) -> tuple[float, tuple[float, ...]]:
    """What a trial's measurements count as, their mean, and they themselves if there are several.

    >>> counts_as(0.5), counts_as([0.25, 0.75])
    ((0.5, ()), (0.5, (0.25, 0.75)))
    """
    if isinstance(measured, float | int):
        return float(measured), ()
    total = 0.0
    for one in measured:  # one after the other, as any site would: `sum` of a newer Python rounds otherwise
        total += one
    mean = total / len(measured)
    return min(max(mean, min(measured)), max(measured)), tuple(measured)  # rounding stays within their range


def told_in(row: Sequence[Any]) -> Told:
    """A reward from a row of a table."""
    trial, arm, reward, item, measured, sequence, at = row
    return Told(trial, arm, reward, item or 0, tuple(json.loads(measured)) if measured else (), sequence, at)
