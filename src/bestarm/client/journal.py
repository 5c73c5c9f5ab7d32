"""A site's memory: what happened since the last download, in one file that survives a kill at any instruction.

The file is a log, and the agent is its replay through the same `Agent` that runs anywhere else. A line is added
in one transaction before anybody hears of it: a trial before it is handed out, a reward before `tell` returns,
an upload before it is first sent. A download starts a new batch, and the answered one shrinks to its rewards.
"""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from bestarm.core.plan import Plan
from bestarm.errors import ProblemWarning, ServiceError, UserError
from bestarm.methods import Method, method
from bestarm.problem import Problem
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, Trial, reply_from_json

APPLICATION = 0x62657374  # "best", where SQLite keeps whose file it is
VERSION = 2
KEPT = 100_000  # told trials that are remembered after their batch was answered, about 4 MB
SCHEMA = (
    "CREATE TABLE about (body TEXT NOT NULL)",
    "CREATE TABLE own (id TEXT NOT NULL)",
    "INSERT INTO own VALUES (lower(hex(randomblob(8))))",
    "CREATE TABLE batch (position INTEGER PRIMARY KEY, event TEXT NOT NULL,"
    " trial INTEGER NOT NULL, arm TEXT NOT NULL, reward REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE told (trial INTEGER PRIMARY KEY, arm TEXT NOT NULL, reward REAL NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class JournalError(ServiceError):
    """The journal can't be written: nothing was recorded, and trying again at once does not help."""


class Kind(Enum):
    """What can happen at a site."""

    DOWNLOAD = "download"
    STOP = "stop"
    ASKED = "asked"
    TOLD = "told"
    GIVEN_BACK = "given_back"
    UPLOAD = "upload"
    SENT = "sent"  # for the first time, or about to be


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log; a line has only what its kind needs."""

    kind: Kind
    trial: int = 0
    arm: str = ""
    reward: float = 0.0
    body: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose journal it is: one agent of one study, and the method that the study follows."""

    study: str
    agent: str
    problem: Mapping[str, Any]
    method: str
    parameters: Mapping[str, Any]
    agents: int

    def build(self) -> Method:
        """The study's method. What it warns of was said to whoever created the study."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            problem = Problem.from_dict(self.problem)
            return method(self.method, problem, self.agents, **self.parameters)


class Journal:
    """The log of one agent in one file, which one process at a time can use; the lock ends with the process."""

    def __init__(self, path: str | os.PathLike[str], patience: float = 2.0) -> None:
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
                self._open()
                self.id = str(self._database.execute("SELECT id FROM own").fetchone()[0])
                self.identity = self._read_identity()
        except BaseException:
            self._database.close()
            raise

    def _open(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        new = not run("SELECT 1 FROM sqlite_master").fetchone()
        application, version = (
            run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if not new and application != APPLICATION:
            raise UserError(f"journal {self.path}: it is a database, but not a journal; name another file.")
        if not new and version != VERSION:
            raise UserError(f"journal {self.path}: another version of bestarm ({version}) wrote it.")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        with self._transaction():
            for statement in SCHEMA if new else ():
                run(statement)

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
        return None if row is None else Identity(**json.loads(row[0]))

    def append(self, *events: Event, joined: Identity | None = None) -> None:
        """Add lines in one transaction; once this returns they survive anything. A download starts a new batch.

        `joined` says, with the first line, whose journal this is.
        """
        run = self._database.execute
        with self._explained("written"), self._transaction():
            if joined is not None:
                run("INSERT INTO about VALUES (?)", [json.dumps(asdict(joined))])
            for event in events:
                if event.kind is Kind.DOWNLOAD:
                    run("INSERT INTO told SELECT trial, arm, reward FROM batch WHERE event = 'told'")
                    run("DELETE FROM told WHERE trial <= (SELECT max(trial) FROM told) - ?", [KEPT])
                    run("DELETE FROM batch")
                run(
                    "INSERT INTO batch (event, trial, arm, reward, body) VALUES (?, ?, ?, ?, ?)",
                    [event.kind.value, event.trial, event.arm, event.reward, event.body],
                )
        self.identity = joined or self.identity

    def events(self) -> Iterator[Event]:
        """The log since the last download, in order."""
        rows = self._database.execute("SELECT event, trial, arm, reward, body FROM batch ORDER BY position")
        for kind, *others in rows:
            yield Event(Kind(kind), *others)

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
            agent = Agent(self.identity.build(), self.identity.agent)
            for event in self.events():
                _repeat(agent, event)
        return agent

    def close(self) -> None:
        """Let another process use the file."""
        self._database.close()


def reply_event(agent: Agent, reply: Download | Stop) -> Event:
    """The line for the answer that the agent has just received: the verdict, or the plan that it follows."""
    if isinstance(reply, Stop):
        return Event(Kind.STOP, body=json.dumps(reply.to_json(agent.method.problem.arms)))
    body = {
        "sequence": agent.sequence,
        "next_number": agent.next_number,
        "arms": agent.plan.arms,
        "counts": agent.plan.counts,
    }
    return Event(Kind.DOWNLOAD, body=json.dumps(body))


def upload_event(agent: Agent) -> Event:
    """The line for the upload that the agent has just made."""
    assert agent.upload is not None
    return Event(Kind.UPLOAD, body=json.dumps(agent.upload.to_json(agent.method.problem.arms)))


def _repeat(agent: Agent, event: Event) -> None:
    """Do again what a line of the log says; a line that does not fit is a mistake of ours and raises."""
    if event.kind is Kind.ASKED:
        if agent.ask(1) != [Trial(event.trial, event.arm)]:
            raise ValueError(f"the journal's trial {event.trial} is not the next one of its plan")
    elif event.kind is Kind.TOLD:
        agent.tell(event.trial, event.reward)
    elif event.kind is Kind.GIVEN_BACK:
        agent.give_back(event.trial)
    elif event.kind is Kind.UPLOAD:
        if agent.upload is None:
            agent.close_batch()
        if upload_event(agent) != event:
            raise ValueError("the journal's upload is not the sum of its rewards")
    elif event.kind is Kind.SENT:
        pass
    elif event.kind is Kind.STOP:
        agent.receive(reply_from_json(json.loads(event.body), agent.method.problem))
    else:
        body = json.loads(event.body)
        agent.sequence, agent.next_number = body["sequence"], body["next_number"]
        # The plan as it was followed: computed again by another version, it could round another way.
        agent.follow(Plan(tuple(body["arms"]), tuple(body["counts"])))
