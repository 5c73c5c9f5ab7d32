"""A site's memory: what happened since the last download, in one file that survives a kill at any instruction.

The file is a log, and the agent is its replay through the same `Agent` that runs anywhere else. A line is added
in one transaction before anybody hears of it: a trial before it is handed out, a reward before `tell` returns,
an upload before it is first sent. A download starts a new batch, and the answered one shrinks to its rewards.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    "CREATE TABLE said (number INTEGER NOT NULL, plate INTEGER, cannot TEXT NOT NULL)",
    "CREATE TABLE items (labels TEXT NOT NULL)",
    "CREATE TABLE counted (name TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE batch (position INTEGER PRIMARY KEY, event TEXT NOT NULL,"
    " trial INTEGER NOT NULL, arm TEXT NOT NULL, reward REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE told (trial INTEGER PRIMARY KEY, arm TEXT NOT NULL, reward REAL NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
)


class JournalError(ServiceError):
    """The journal can't be written: nothing was recorded, and trying again at once does not help."""


class Happening(Enum):
    """What can happen at a site."""

    DOWNLOAD = "download"
    STOP = "stop"
    ASKED = "asked"
    TOLD = "told"
    GIVEN_BACK = "given_back"
    COUNTED = "counted"  # a whole batch that was added up elsewhere
    UPLOAD = "upload"
    SENT = "sent"  # for the first time, or about to be


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log; a line has only what belongs to what happened. Counts have their name as `arm`."""

    what: Happening
    trial: int = 0
    arm: str = ""
    reward: float = 0.0
    body: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose journal it is: one agent of one study, on these terms. `problem` is all that the server said.

    The study keeps here the name that it was joined under, which goes on leading to it; `renamed` are names
    that it got later.
    """

    study: str
    agent: str
    terms: Terms
    problem: Mapping[str, Any]
    renamed: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that the study is known to have been called."""
        return (self.study, *self.renamed)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        body = {name: getattr(self, name) for name in self.__slots__} | {"terms": self.terms.to_json()}
        return body | {"renamed": list(self.renamed)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Identity:
        """The inverse of `to_json`, also where there is more beside it."""
        if not isinstance(value["problem"], dict):
            raise TypeError("problem is not an object")
        terms, renamed = Terms.from_json(value["terms"]), tuple(map(str, value.get("renamed", ())))
        return cls(str(value["study"]), str(value["agent"]), terms, value["problem"], renamed)


@dataclass(frozen=True, slots=True)
class Said:
    """How the site said it works: trials at once, None if that does not matter, and arms that it can't do.

    `number` counts how often it said so before.
    """

    plate: int | None = None
    cannot: tuple[str, ...] = ()
    number: int = 0


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
        row = self._database.execute("SELECT plate, cannot, number FROM said").fetchone()
        return None if row is None else Said(row[0], tuple(json.loads(row[1])), row[2])

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
            run("INSERT INTO said VALUES (?, ?, ?)", [said.number, said.plate, json.dumps(said.cannot)])
        self.said = said

    def learn_name(self, study: str) -> None:
        """Write down what the study is called now, if that is new."""
        if self.identity is None or study in self.identity.names:
            return
        known = replace(self.identity, renamed=(*self.identity.renamed, study))
        with self._explained("written"), self._transaction():
            self._database.execute("UPDATE about SET body = ?", [json.dumps(known.to_json())])
        self.identity = known

    def chance(self, number: int) -> float:
        """A number from 0 to 1 for each trial: with it the trial's arm is drawn from what is left of the plan.

        It comes from the seed, so that a trial which was never written down is drawn again as it was.
        """
        return Random(f"{self.seed}/{number}").random()

    def append(self, *lines: Line, joined: Identity | None = None) -> None:
        """Add lines in one transaction; once this returns they survive anything. A download starts a new batch.

        `joined` says, with the first line, whose journal this is.
        """
        run = self._database.execute
        with self._explained("written"), self._transaction():
            if joined is not None:
                run("INSERT INTO about VALUES (?)", [json.dumps(joined.to_json())])
            for line in lines:
                if line.what is Happening.DOWNLOAD:
                    run("INSERT INTO told SELECT trial, arm, reward FROM batch WHERE event = 'told'")
                    run("DELETE FROM told WHERE trial <= (SELECT max(trial) FROM told) - ?", [KEPT])
                    run("DELETE FROM batch")
                if line.what is Happening.COUNTED and line.arm:
                    run("INSERT INTO counted VALUES (?, ?)", [line.arm, line.body])
                run(
                    "INSERT INTO batch (event, trial, arm, reward, body) VALUES (?, ?, ?, ?, ?)",
                    [line.what.value, line.trial, line.arm, line.reward, line.body],
                )
        self.identity = joined or self.identity

    def lines(self) -> Iterator[Line]:
        """The log since the last download, in order."""
        rows = self._database.execute("SELECT event, trial, arm, reward, body FROM batch ORDER BY position")
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
        """The last upload as it was written down, to be sent with the same bytes every time."""
        rows = self._database.execute("SELECT body FROM batch WHERE event = 'upload' ORDER BY position DESC")
        upload: dict[str, Any] = json.loads(rows.fetchone()[0])
        return upload

    @property
    def sent(self) -> bool:
        """Whether the server may have the last upload already."""
        last = "SELECT event FROM batch WHERE event IN ('upload', 'sent') ORDER BY position DESC"
        return bool(self._database.execute(last).fetchone() == ("sent",))

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


def reply_line(agent: Agent, reply: Download | Stop) -> Line:
    """The line for the answer that the agent has just received: the verdict, or the plan that it follows."""
    if isinstance(reply, Stop):
        return Line(Happening.STOP, body=json.dumps(reply.to_json()))
    body = {
        "sequence": agent.sequence,
        "next_number": agent.next_number,
        "arms": agent.plan.arms,
        "counts": agent.plan.counts,
    }
    if agent.plan.rivals:
        body["rivals"] = agent.plan.rivals
    if agent.terms.items:
        body["next_item"] = agent.next_item
    if reply.arms:
        body["names"] = reply.arms
    return Line(Happening.DOWNLOAD, body=json.dumps(body))


def asked_line(trial: Trial) -> Line:
    """The line for a trial that is handed out; its item is a number there."""
    return Line(Happening.ASKED, trial.number, trial.arm, body="" if trial.item is None else str(trial.item))


def upload_line(agent: Agent) -> Line:
    """The line for the upload that the agent has just made."""
    assert agent.upload is not None
    return Line(Happening.UPLOAD, body=json.dumps(agent.upload.to_json(agent.terms.arms)))


def _repeat(agent: Agent, line: Line) -> None:
    """Do again what a line of the log says; a line that does not fit is a mistake of ours and raises."""
    if line.what is Happening.ASKED:
        item = int(line.body or 0)
        if agent.hand_out(agent.terms.arms.index(line.arm), item) != Trial(line.trial, line.arm, item or None):
            raise ValueError(f"the journal's trial {line.trial} is not the next one")
    elif line.what is Happening.TOLD:
        agent.tell(line.trial, line.reward)
    elif line.what is Happening.GIVEN_BACK:
        agent.give_back(line.trial)
    elif line.what is Happening.COUNTED:
        agent.tell_counts(json.loads(line.body))
    elif line.what is Happening.UPLOAD:
        if agent.upload is None:
            agent.close_batch()
        if upload_line(agent) != line:
            raise ValueError("the journal's upload is not the sum of its rewards")
    elif line.what is Happening.SENT:
        pass
    elif line.what is Happening.STOP:
        agent.receive(reply_from_json(json.loads(line.body), agent.terms))
    else:
        body = json.loads(line.body)
        agent.resume(body["sequence"], body["next_number"], body.get("next_item", 1))
        plan = Plan(tuple(body["arms"]), tuple(body["counts"]), tuple(body.get("rivals", ())))
        agent.start(plan, tuple(body.get("names", ())))
