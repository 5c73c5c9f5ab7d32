"""A site's memory: what happened since the last download, in one file that survives a kill at any instruction.

The file is a log, and the agent is its replay through the same `Agent` that runs anywhere else. A line is added
in one transaction before anybody hears of it: a trial before it is handed out, a reward before `tell` returns,
an upload before it is first sent. A batch that was answered shrinks to its rewards; those in hand stay.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

from bestarm.client.items import Items, Label, check_same, checked_items
from bestarm.client.upgrade import FIRST, upgrade
from bestarm.core.plan import Plan
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, Trial, reply_from_json
from bestarm.protocol.terms import Terms

APPLICATION = 0x62657374  # "best", where SQLite keeps whose file it is
VERSION = 3
KEPT = 100_000  # told trials that are remembered after their batch was answered, about 4 MB
SCHEMA = (
    "CREATE TABLE about (body TEXT NOT NULL)",
    "CREATE TABLE own (id TEXT NOT NULL, seed TEXT NOT NULL)",
    "CREATE TABLE said (number INTEGER NOT NULL, plate INTEGER, cannot TEXT NOT NULL,"
    " plates INTEGER NOT NULL DEFAULT 1, room INTEGER NOT NULL DEFAULT 1)",
    "CREATE TABLE items (labels TEXT NOT NULL)",
    "CREATE TABLE counted (name TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE batch (position INTEGER PRIMARY KEY, event TEXT NOT NULL, trial INTEGER NOT NULL,"
    " arm TEXT NOT NULL, reward REAL NOT NULL, body TEXT NOT NULL, batch INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE told (trial INTEGER PRIMARY KEY, arm TEXT NOT NULL, reward REAL NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
)


class JournalError(ServiceError):
    """The journal can't be written: nothing was recorded, and trying again at once does not help."""


class Happening(Enum):
    """What can happen at a site."""

    DOWNLOAD = "download"
    STOP = "stop"
    BEGUN = "begun"  # a batch, with its plan
    ASKED = "asked"
    TOLD = "told"
    GIVEN_BACK = "given_back"
    COUNTED = "counted"  # a whole batch that was added up elsewhere
    UPLOAD = "upload"
    SENT = "sent"  # for the first time, or about to be


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log; a line has only what belongs to what happened. Counts have their name as `arm`.

    `batch` is the number of the first trial of the batch that it is about; for counts it is minus that of their
    upload. What the server said last comes first in the log, whenever it came.
    """

    what: Happening
    trial: int = 0
    arm: str = ""
    reward: float = 0.0
    body: str = ""
    batch: int = 0


PLACES = {Happening.DOWNLOAD: -1, Happening.STOP: 0}  # of what the server said last; the others come after

NEXT = "(SELECT 1 + max(0, coalesce(max(position), 0)) FROM batch)"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose journal it is: one agent of one study, on these terms. `problem` is all that the server said."""

    study: str
    agent: str
    terms: Terms
    problem: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"terms": self.terms.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Identity:
        """The inverse of `to_json`, also where there is more beside it."""
        if not isinstance(value["problem"], dict):
            raise TypeError("problem is not an object")
        return cls(str(value["study"]), str(value["agent"]), Terms.from_json(value["terms"]), value["problem"])


@dataclass(frozen=True, slots=True)
class Said:
    """How the site said it works: trials on a plate, None if that does not matter, and arms that it can't do.

    `number` counts how often it said so before; `plates` is how many batches it has in hand, and `room` how
    many trials it has under way at once, as was seen from what was asked for.
    """

    plate: int | None = None
    cannot: tuple[str, ...] = ()
    number: int = 0
    plates: int = 1
    room: int = 1


class Journal:
    """The log of one agent in one file, which one process at a time can use; the lock ends with the process."""

    def __init__(self, path: str | os.PathLike[str], patience: float = 2.0, seed: str | None = None) -> None:
        """`seed` is for the order of a new journal's trials, and drawn if it is not given."""
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise UserError(f"journal {self.path}: the folder does not exist.")
        with self._explained("opened"):
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # nobody else's business
            self._database = sqlite3.connect(
                self.path, timeout=patience, isolation_level=None, check_same_thread=False
            )
        try:
            with self._explained("opened"):
                self._open(seed or secrets.token_hex(8))
                self.id, self.seed = map(str, self._database.execute("SELECT id, seed FROM own").fetchone())
                self.identity = self._read_identity()
                self.said = self._read_said()
                self.items = Items(self._read_labels(), self.seed)
        except BaseException:
            self._database.close()
            raise

    def _open(self, seed: str) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        new = not run("SELECT 1 FROM sqlite_master").fetchone()
        application, version = (
            run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if not new and application != APPLICATION:
            raise UserError(f"journal {self.path}: it is a database, but not a journal; name another file.")
        if not new and version not in (FIRST, VERSION):
            raise UserError(
                f"journal {self.path}: another version of bestarm wrote it (format {version}, and this one "
                f"reads {FIRST} and {VERSION}); pip install --upgrade bestarm."
            )
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        if version == VERSION and not new:
            return
        with self._transaction():
            if new:
                for statement in SCHEMA:
                    run(statement)
                run("INSERT INTO own VALUES (?, ?)", [secrets.token_hex(8), seed])
            else:
                upgrade(run, seed)
            run(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """What SQLite says, and what a damaged file leads to, in a sentence."""
        try:
            yield
        except UserError:
            raise
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise UserError(
                    f"journal {self.path}: another process is using it; one process at a time can."
                ) from None
            raise JournalError(f"journal {self.path}: it can't be {verb}: {error}.") from error
        except OSError as error:
            raise UserError(f"journal {self.path}: it can't be {verb}: {error.strerror}.") from None
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError, IndexError) as error:
            raise UserError(f"journal {self.path}: it is not a journal, or it is damaged: {error}.") from None

    def _read_identity(self) -> Identity | None:
        row = self._database.execute("SELECT body FROM about").fetchone()
        return None if row is None else Identity.from_json(json.loads(row[0]))

    def _read_said(self) -> Said | None:
        row = self._database.execute("SELECT plate, cannot, number, plates, room FROM said").fetchone()
        return None if row is None else Said(row[0], tuple(json.loads(row[1])), *row[2:])

    def _read_labels(self) -> tuple[Label, ...]:
        row = self._database.execute("SELECT labels FROM items").fetchone()
        return () if row is None else tuple(json.loads(row[0]))

    def keep_items(self, given: object, begun: bool) -> None:
        """Write down the site's list of items, before the first was `begun`; afterwards it must be the same."""
        labels = checked_items(given)
        if self.items.labels:
            check_same(self.path, self.items.labels, labels)
            return
        if begun:
            raise UserError(
                f"journal {self.path}: items were handed out by number already; a list must come first."
            )
        with self._explained("written"), self._transaction():
            self._database.execute("INSERT INTO items VALUES (?)", [json.dumps(labels)])
        self.items = Items(labels, self.seed)

    def say(self, said: Said) -> None:
        """Write down how the site works, before the server hears of it."""
        run = self._database.execute
        with self._explained("written"), self._transaction():
            run("DELETE FROM said")
            row = [said.number, said.plate, json.dumps(said.cannot), said.plates, said.room]
            run("INSERT INTO said VALUES (?, ?, ?, ?, ?)", row)
        self.said = said

    def chance(self, number: int) -> float:
        """A number from 0 to 1 for each trial: with it the trial's arm is drawn from what is left of the plan.

        It comes from the seed, so that a trial which was never written down is drawn again as it was.
        """
        return Random(f"{self.seed}/{number}").random()

    def append(self, *lines: Line, joined: Identity | None = None) -> None:
        """Add lines in one transaction; once this returns they survive anything.

        A download says how many uploads are answered, and their batches shrink.
        `joined` says, with the first line, whose journal this is.
        """
        run = self._database.execute
        with self._explained("written"), self._transaction():
            if joined is not None:
                run("INSERT INTO about VALUES (?)", [json.dumps(joined.to_json())])
            for line in lines:
                if line.what is Happening.DOWNLOAD:
                    self._shrink(json.loads(line.body)["sequence"])
                if line.what is Happening.COUNTED and line.arm:
                    run("INSERT INTO counted VALUES (?, ?)", [line.arm, line.body])
                row = [
                    PLACES.get(line.what),
                    line.what.value,
                    line.trial,
                    line.arm,
                    line.reward,
                    line.body,
                    line.batch,
                ]
                run(f"INSERT OR REPLACE INTO batch VALUES (coalesce(?, {NEXT}), ?, ?, ?, ?, ?, ?)", row)
        self.identity = joined or self.identity

    def _shrink(self, answered: int) -> None:
        """Keep of batches whose uploads were answered only what was told."""
        run = self._database.execute
        for batch, body in run("SELECT batch, body FROM batch WHERE event = 'upload'").fetchall():
            if json.loads(body)["sequence"] <= answered:
                told = "SELECT trial, arm, reward FROM batch WHERE event = 'told' AND batch = ?"
                run(f"INSERT INTO told {told}", [batch])
                run("DELETE FROM told WHERE trial <= (SELECT max(trial) FROM told) - ?", [KEPT])
                run("DELETE FROM batch WHERE batch = ?", [batch])

    def lines(self) -> Iterator[Line]:
        """What the server said last, and what has happened in the batches in hand and those not answered."""
        rows = self._database.execute(
            "SELECT event, trial, arm, reward, body, batch FROM batch ORDER BY position"
        )
        for what, *others in rows:
            yield Line(Happening(what), *others)

    def counted(self, name: str) -> str | None:
        """The counts that were told under a name."""
        row = self._database.execute("SELECT body FROM counted WHERE name = ?", [name]).fetchone()
        return None if row is None else str(row[0])

    def told(self, trial: int) -> tuple[str, float] | None:
        """The arm and the reward of a trial that was told."""
        row = self._database.execute(
            "SELECT arm, reward FROM told WHERE trial = ?1"
            " UNION ALL SELECT arm, reward FROM batch WHERE event = 'told' AND trial = ?1",
            [trial],
        ).fetchone()
        return None if row is None else (row[0], row[1])

    @property
    def upload(self) -> dict[str, Any]:
        """The upload that is sent next as it was written down, to be sent with the same bytes every time."""
        rows = self._database.execute("SELECT body FROM batch WHERE event = 'upload' ORDER BY position")
        upload: dict[str, Any] = json.loads(rows.fetchone()[0])
        return upload

    @property
    def sent(self) -> bool:
        """Whether the server may have the upload that is sent next already."""
        return self._database.execute("SELECT 1 FROM batch WHERE event = 'sent'").fetchone() is not None

    def replay(self) -> Agent:
        """The agent that the log leads to."""
        if self.identity is None:
            raise ValueError("a journal has an agent once it has joined a study")
        with self._explained("read"):
            agent = Agent(self.identity.terms, self.identity.agent, self.chance)
            for line in self.lines():
                _repeat(agent, line)
        return agent

    def close(self) -> None:
        """Let another process use the file."""
        self._database.close()


def reply_lines(agent: Agent, reply: Download | Stop) -> list[Line]:
    """The lines for the answer that the agent has just received: where it stands, and perhaps the verdict."""
    body: dict[str, Any] = {
        "sequence": agent.sequence - len(agent.uploads),
        "next_number": agent.next_number,
        "plan": _plan_body(agent.plan),
        "times": agent.times,
    }
    if agent.terms.items:
        body["next_item"] = agent.next_item
    if agent.arms:
        body["names"] = agent.arms
    lines = [Line(Happening.DOWNLOAD, body=json.dumps(body))]
    if isinstance(reply, Stop):
        lines.append(Line(Happening.STOP, body=json.dumps(reply.to_json())))
    return lines


def asked_lines(agent: Agent, trials: Iterable[Trial]) -> list[Line]:
    """The lines for trials that the agent has just handed out; items are numbers there."""
    lines = []
    for trial in trials:
        first = agent.batch_of(trial.number)
        if first == trial.number:
            plan = json.dumps(_plan_body(agent.batches[first].plan))
            lines.append(Line(Happening.BEGUN, body=plan, batch=first))
        item = "" if trial.item is None else str(trial.item)
        lines.append(Line(Happening.ASKED, trial.number, trial.arm, body=item, batch=first))
    return lines


def upload_line(agent: Agent, batch: int) -> Line:
    """The line for the upload that the agent has just made."""
    body = json.dumps(agent.uploads[-1].to_json(agent.terms.arms))
    return Line(Happening.UPLOAD, body=body, batch=batch)


def _plan_body(plan: Plan) -> dict[str, Any]:
    body: dict[str, Any] = {"arms": plan.arms, "counts": plan.counts}
    return body | {"rivals": plan.rivals} if plan.rivals else body


def _plan_of(body: Mapping[str, Any]) -> Plan:
    return Plan(tuple(body["arms"]), tuple(body["counts"]), tuple(body.get("rivals", ())))


def _repeat(agent: Agent, line: Line) -> None:
    """Do again what a line of the log says; a line that does not fit is a mistake of ours and raises."""
    if line.what is Happening.BEGUN:
        agent.begin(line.batch, _plan_of(json.loads(line.body)))
    elif line.what is Happening.ASKED:
        agent.hand_out(line.batch, line.trial, agent.terms.arms.index(line.arm), int(line.body or 0))
    elif line.what is Happening.TOLD:
        agent.tell(line.trial, line.reward)
    elif line.what is Happening.GIVEN_BACK:
        agent.give_back(line.trial)
    elif line.what is Happening.COUNTED:
        agent.tell_counts(json.loads(line.body))
    elif line.what is Happening.UPLOAD:
        agent.close_batch(line.batch)  # unless the last reward or the counts have made it
        if upload_line(agent, line.batch) != line:
            raise ValueError("the journal's upload is not the sum of its rewards")
    elif line.what is Happening.SENT:
        pass
    elif line.what is Happening.STOP:
        agent.receive(reply_from_json(json.loads(line.body), agent.terms))
    else:
        body = json.loads(line.body)
        agent.resume(body["sequence"], body["next_number"], body.get("next_item", 1))
        plan = _plan_of(body.get("plan", body))  # the first version had it beside the others
        agent.start(plan, tuple(body.get("names", ())), body.get("times", 1))
