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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from bestarm.client.items import Items, Label, check_same, checked_items
from bestarm.client.memory import past, receipts
from bestarm.client.memory.identity import Identity, Said
from bestarm.client.memory.lines import PLACES, Happening, Line, plan_body, plan_in, repeat, upload_line
from bestarm.client.memory.past import Counted, Past, Told, as_corrected
from bestarm.client.memory.receipts import Receipts
from bestarm.client.memory.upgrade import FIRST, VERSION, upgrade
from bestarm.core.plan import Plan
from bestarm.errors import ServiceError, UserError
from bestarm.private import make_private
from bestarm.protocol.agent import Agent

APPLICATION = 0x62657374  # "best", where SQLite keeps whose file it is
MEMORY = ":memory:"  # instead of a path: a journal that ends with its process, for a study that does too
SCHEMA = (
    "CREATE TABLE about (body TEXT NOT NULL)",
    "CREATE TABLE own (id TEXT NOT NULL, seed TEXT NOT NULL)",
    "CREATE TABLE said (number INTEGER NOT NULL, plate INTEGER, cannot TEXT NOT NULL,"
    " plates INTEGER NOT NULL DEFAULT 1, room INTEGER NOT NULL DEFAULT 1)",
    "CREATE TABLE items (labels TEXT NOT NULL)",
    "CREATE TABLE closed (sentence TEXT NOT NULL)",
    "CREATE TABLE cannot (arm TEXT PRIMARY KEY, reason TEXT NOT NULL)",
    "CREATE TABLE counted (name TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE batch (position INTEGER PRIMARY KEY, event TEXT NOT NULL, trial INTEGER NOT NULL,"
    " arm TEXT NOT NULL, reward REAL NOT NULL, body TEXT NOT NULL, batch INTEGER NOT NULL DEFAULT 0,"
    " at TEXT NOT NULL DEFAULT '')",
    *past.SCHEMA,
    *receipts.SCHEMA,
    f"PRAGMA application_id = {APPLICATION}",
)
NEXT = "(SELECT 1 + max(0, coalesce(max(position), 0)) FROM batch)"


class JournalError(ServiceError):
    """The journal can't be written: nothing was recorded, and trying again at once does not help."""


def now() -> str:
    """The time, as the journal writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Journal:
    """The log of one agent in one file, which one process at a time can use; the lock ends with the process."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        patience: float = 2.0,
        seed: str | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        """`seed` is for the order of a new journal's trials, and drawn if it is not given."""
        self.path = Path(path)
        self.clock = clock
        if not self.path.absolute().parent.is_dir():
            raise UserError(f"journal {self.path}: the folder does not exist.")
        with self._explained("opened"):
            if path != MEMORY:
                make_private(self.path)
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
                self.closed = self._read_closed()
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
        if not new and not FIRST <= version <= VERSION:
            raise UserError(
                f"journal {self.path}: another version of bestarm wrote it (format {version}, and this one "
                f"reads {FIRST} to {VERSION}); pip install --upgrade bestarm."
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
                upgrade(run, seed, version)
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

    def _read_closed(self) -> str:
        row = self._database.execute("SELECT sentence FROM closed").fetchone()
        return "" if row is None else str(row[0])

    def note_closed(self, sentence: str) -> None:
        """Write down that the study was closed, in the server's words; or, without any, that it goes on."""
        if sentence == self.closed:
            return
        with self._explained("written"), self._transaction():
            self._database.execute("DELETE FROM closed")
            if sentence:
                self._database.execute("INSERT INTO closed VALUES (?)", [sentence])
        self.closed = sentence

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
        with self._explained("written"), self._transaction():
            self._say(said)
        self.said = said

    def _say(self, said: Said) -> None:
        run = self._database.execute
        run("DELETE FROM said")
        row = [said.number, said.plate, json.dumps(said.cannot), said.plates, said.room]
        run("INSERT INTO said VALUES (?, ?, ?, ?, ?)", row)

    def reasons(self) -> dict[str, str]:
        """Why the site can't do some of the arms, where it has said so."""
        return dict(self._database.execute("SELECT arm, reason FROM cannot").fetchall())

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

    def append(
        self,
        *lines: Line,
        joined: Identity | None = None,
        said: Said | None = None,
        reasons: Mapping[str, str] | None = None,
        receipt: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
    ) -> None:
        """Add lines in one transaction; once this returns they survive anything.

        A download says how many uploads are answered, and their batches shrink.
        `joined` says, with the first line, whose journal this is; `said` how the site works from now on, and
        `reasons` why; `receipt` is an upload and the server's answer to it.
        """
        run = self._database.execute
        with self._explained("written"), self._transaction():
            if joined is not None:
                run("INSERT INTO about VALUES (?)", [json.dumps(joined.to_json())])
            if said is not None:
                self._say(said)
            if receipt is not None:
                self.receipts.keep(*receipt)
            for arm, reason in (reasons or {}).items():
                run("INSERT OR REPLACE INTO cannot VALUES (?, ?)", [arm, reason])
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
                    self.clock(),
                ]
                run(f"INSERT OR REPLACE INTO batch VALUES (coalesce(?, {NEXT}), ?, ?, ?, ?, ?, ?, ?)", row)
        self.identity = joined or self.identity
        self.said = said or self.said

    def _shrink(self, answered: int) -> None:
        """Keep of batches whose uploads were answered what was told, and what is needed to add it up again."""
        run = self._database.execute
        for batch, body in run("SELECT batch, body FROM batch WHERE event = 'upload'").fetchall():
            sequence = json.loads(body)["sequence"]
            if sequence <= answered:
                self.past.keep(batch, sequence, json.dumps(plan_body(self._plan_in(batch))))
                run("DELETE FROM batch WHERE batch = ?", [batch])

    def _plan_in(self, batch: int) -> Plan:
        """The plan of a batch that is not answered yet; that of counts is the one that there was."""
        run = self._database.execute
        found = run("SELECT body FROM batch WHERE event = 'begun' AND batch = ?", [batch]).fetchone()
        if found is None:
            found = run("SELECT body FROM batch WHERE event = 'download'").fetchone()
        body = json.loads(found[0])
        return plan_in(body.get("plan", body))

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

    @property
    def receipts(self) -> Receipts:
        """The uploads that the server has answered, and where its log has them."""
        return Receipts(self._database.execute)

    def keep_receipt(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Write down where the server has an upload that it had lost."""
        with self._explained("written"), self._transaction():
            self.receipts.keep(body, answer)

    def note_restored(self, id: str) -> None:
        """Write down that this site has sent again what the server had lost; so are its corrections, next."""
        with self._explained("written"), self._transaction():
            self.receipts.note(id)
            self.past.send_again()

    @property
    def past(self) -> Past:
        """What was told in batches that the server has answered, and every correction."""
        return Past(self._database.execute)

    def told(self) -> list[Told]:
        """The rewards that are not answered yet, as they count now, in the order in which they were told."""
        rows = self._database.execute(
            "SELECT told.trial, told.arm, told.reward, CAST(asked.body AS INTEGER), told.body,"
            " told.at, upload.body"
            " FROM batch told JOIN batch asked ON asked.trial = told.trial AND asked.event = 'asked'"
            " LEFT JOIN batch upload ON upload.batch = told.batch AND upload.event = 'upload'"
            " WHERE told.event = 'told' ORDER BY told.position"
        ).fetchall()
        corrected = self.past.corrected() if rows else {}
        found = []
        for *told, at, upload in rows:
            sequence = json.loads(upload)["sequence"] if upload else 0
            found.append(as_corrected(past.told_in([*told, sequence, at]), corrected))
        return found

    def why_dropped(self, trial: int) -> tuple[str, str] | None:
        """The arm of a trial that was taken back, and why."""
        row = self._database.execute(
            "SELECT asked.arm, dropped.body FROM batch asked JOIN batch dropped ON dropped.batch = asked.batch"
            " AND dropped.arm = asked.arm AND dropped.event = 'dropped' AND dropped.position > asked.position"
            " WHERE asked.event = 'asked' AND asked.trial = ?",
            [trial],
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def find(self, trial: int) -> Told | None:
        """The reward of a trial that was told, as it counts now."""
        return self.past.find(trial) or next((one for one in self.told() if one.trial == trial), None)

    def of_batch(self, sequence: int) -> tuple[list[Told], Plan | None]:
        """The rewards of a batch that has an upload, in the order in which they were told, and its plan."""
        told = [one for one in self.told() if one.sequence == sequence]
        if not told:
            return self.past.of_batch(sequence), self.past.plan(sequence)
        uploads = self._database.execute("SELECT batch, body FROM batch WHERE event = 'upload'").fetchall()
        (batch,) = (batch for batch, body in uploads if json.loads(body)["sequence"] == sequence)
        return told, self._plan_in(batch)

    def plan_of(self, sequence: int) -> Plan | None:
        """The plan that there was when counts were told."""
        return self.past.plan(sequence) or self._plan_in(-sequence)

    def all_counted(self) -> list[Counted]:
        """All counts that were told, oldest first, as they count now."""
        rows = self._database.execute(
            "SELECT counted.arm, counted.body, upload.body, counted.at FROM batch counted"
            " JOIN batch upload ON upload.batch = counted.batch AND upload.event = 'upload'"
            " WHERE counted.event = 'counted' ORDER BY counted.position"
        ).fetchall()
        found = list(self.past.counted())
        for name, body, upload, at in rows:
            sequence = json.loads(upload)["sequence"]
            found.append(Counted(name, self.past.counts_now(name, body), sequence, at))
        return found

    def amend(self, told: Told | Counted, now: Any, reason: str) -> None:
        """Change what was told in a batch that nobody has seen: it is added up anew, from the raw rewards."""
        assert self.identity is not None
        query = "SELECT position, event, trial, arm, reward, body, batch FROM batch ORDER BY position"
        agent, changed = Agent(self.identity.terms, self.identity.agent, self.chance), []
        for position, what, *others in self._database.execute(query).fetchall():
            line = amended = Line(Happening(what), *others)
            if isinstance(told, Told) and line.what is Happening.TOLD and line.trial == told.trial:
                reward, measured = past.counts_as(now)
                amended = replace(line, reward=reward, body=json.dumps(measured) if measured else "")
            elif isinstance(told, Counted) and line.what is Happening.COUNTED and line.arm == told.name:
                amended = replace(line, body=json.dumps(now))
            elif line.what is Happening.UPLOAD:
                agent.close_batch(line.batch)
                amended = upload_line(agent, line.batch)
            repeat(agent, amended)
            if amended != line:
                changed.append([amended.reward, amended.body, position])
        with self._explained("written"), self._transaction():
            for row in changed:
                self._database.execute("UPDATE batch SET reward = ?, body = ? WHERE position = ?", row)
            if isinstance(told, Counted):
                self._database.execute(
                    "UPDATE counted SET body = ? WHERE name = ?", [json.dumps(now), told.name]
                )
            self.past.correct(told, now, reason, self.clock(), self.identity.agent)

    def queue(self, told: Told | Counted, now: Any, reason: str, tally: Any) -> None:
        """Write down a correction of a batch that the server has, or may have: a message that waits."""
        assert self.identity is not None
        with self._explained("written"), self._transaction():
            self.past.correct(told, now, reason, self.clock(), self.identity.agent, tally)
            if isinstance(told, Counted):
                self._database.execute(
                    "UPDATE counted SET body = ? WHERE name = ?", [json.dumps(now), told.name]
                )

    def forget_sent(self) -> None:
        """The upload that was about to be sent was not: the server could not be reached at all."""
        with self._explained("written"), self._transaction():
            self._database.execute("DELETE FROM batch WHERE event = 'sent'")

    def acknowledge(self, number: int, answer: Mapping[str, Any]) -> None:
        """The server has answered a correction."""
        with self._explained("written"), self._transaction():
            self.past.acknowledge(number, answer)

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
                repeat(agent, line)
        return agent

    def close(self) -> None:
        """Let another process use the file."""
        self._database.close()
