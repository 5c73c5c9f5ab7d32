"""Servers and sites as real processes that can be killed, and started again in milliseconds.

A nursery imports everything once and forks a child for each process, so that a hundred kills don't cost a
hundred imports. A child runs `bestarm serve`, or a site that works through studies and notes what it told.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NoReturn

UNIT = 2**30  # rewards are whole numbers of about this size, so that their sums are exact and tell them apart


class Nursery:
    """Starts and kills processes by name."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, modules: Sequence[str] = ()
    ) -> None:
        """`modules` are imported before the first child is born."""
        self.kills = 0
        self.log = (folder / "processes.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def _say(self, *words: Any) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def start(self, name: str, kind: str, *arguments: Any) -> None:
        """Start a process; for a server, wait until it listens."""
        expected = "listening" if kind.startswith("serve") else "started"
        assert self._say("start", name, kind, arguments) == expected

    def halt(self, name: str) -> None:
        """Stop it at whatever instruction it is, with all that it holds, until it goes on."""
        assert self._say("halt", name) == "halted"

    def go_on(self, name: str) -> None:
        """Let a process that was stopped go on."""
        assert self._say("go on", name) == "goes on"

    def kill(self, name: str) -> None:
        """End it at whatever instruction it is."""
        assert self._say("kill", name) == "killed"
        self.kills += 1

    def wait(self, name: str) -> int:
        """Its exit code, once it has ended by itself."""
        return int(self._say("wait", name))

    def close(self) -> None:
        """Kill what is left."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()
        self.log.close()


def nurse() -> None:
    """The nursery's own process: one order a line."""

    children: dict[str, int] = {}
    for module in sys.argv[1:]:
        import_module(module)
    for line in sys.stdin:
        order, name, *others = json.loads(line)
        if order == "start":
            kind, arguments = others
            reading, writing = os.pipe()
            children[name] = os.fork()
            if children[name] == 0:
                os.close(reading)
                os.dup2(writing, 1)
                become(kind, arguments)
            os.close(writing)
            with os.fdopen(reading) as output:
                word = output.readline().split(" ")[0].strip()
            print(word, flush=True)
        elif order in ("halt", "go on"):
            os.kill(children[name], signal.SIGSTOP if order == "halt" else signal.SIGCONT)
            print("halted" if order == "halt" else "goes on", flush=True)
        elif order == "kill":
            os.kill(children[name], signal.SIGKILL)
            os.waitpid(children.pop(name), 0)
            print("killed", flush=True)
        else:
            _, status = os.waitpid(children.pop(name), 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
    for child in children.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def become(kind: str, arguments: list[Any]) -> NoReturn:
    """In the child: do the work, and never come back."""
    try:
        if kind == "serve in trouble":
            trouble, arguments = arguments[0], arguments[1:]
            get_into(**trouble)
        if kind.startswith("serve"):
            sys.argv = ["bestarm", "serve", *arguments]
            from bestarm.cli.main import run

            run()
        else:
            print("started", flush=True)
            site(**arguments[0]) if kind == "site" else write(**arguments[0])
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)


def get_into(days: float = 0.0, largest: int | None = None) -> None:
    """A clock that is wrong by so many days; a disk on which no file can grow beyond so many bytes."""
    from datetime import UTC, datetime, timedelta

    from bestarm.service.storage import Storage

    if days:
        defaults = Storage.__init__.__kwdefaults__
        assert defaults is not None
        defaults["now"] = lambda: datetime.now(UTC) + timedelta(days=days)
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))


def site(url: str, tokens: dict[str, str], folder: str, name: str, seed: int, done: str) -> None:
    """Work through studies, one after the other, until the file `done` is there; the last one never ends.

    Without a server the URL is a storage's, and the tokens say nothing.
    """
    from bestarm.client.lab import Lab
    from bestarm.client.memory.journal import Journal
    from bestarm.client.server.address import is_storage, open_inside
    from bestarm.client.server.connection import Connection
    from bestarm.client.server.patience import Patience

    patience = Patience(sleep=lambda seconds: time.sleep(seconds / 8))
    random = Random(seed)
    ledger = open_ledger(Path(f"{folder}/{name}.ledger"))
    for study, token in tokens.items():
        path = Path(f"{folder}/{name}-{study}.db")
        if Path(done).exists() and not path.exists():
            return
        if is_storage(url):
            connection = Connection.within(open_inside(url, make=False).site(name, last=True), url)
        else:
            connection = Connection(url, token)
        with Lab(connection, Journal(path), study, patience=patience) as lab:
            if not lab.joined:
                lab.sync(wait=None)
            gap = 0.0 if study == list(tokens)[-1] else 0.25
            means = {arm: 0.9 - gap * k for k, arm in enumerate(lab.problem.arms)}
            while not lab.finished and not Path(done).exists():
                for trial in lab.ask(random.randint(1, 5), wait=None):
                    reward = float(round(UNIT * random.gauss(means[trial.arm], 0.3)))
                    lab.tell(trial, reward)
                    os.write(ledger, f"{study} {trial.number} {trial.arm} {reward!r}\n".encode())
                    os.fsync(ledger)
            lab.leave(wait=None)


def write(path: str, synchronous: str) -> None:
    """Three rows, each in a transaction of its own, with this pragma of SQLite's; it ends without closing."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(f"PRAGMA synchronous = {synchronous}")
    database.execute("CREATE TABLE kept (number INTEGER)")
    for number in range(3):
        database.execute("INSERT INTO kept VALUES (?)", (number,))
    os._exit(0)


def open_ledger(path: Path) -> int:
    """The file to append to, without the line that a kill tore: a write ends early where a page does."""
    ledger = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.ftruncate(ledger, path.read_bytes().rfind(b"\n") + 1)
    return ledger


if __name__ == "__main__":
    nurse()
