"""The journal: one process at a time, only its own files, small after months, and a replay that is exact."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_server import FakeServer, open_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm import Agent, Lab, UserError
from bestarm.client.memory import past, receipts
from bestarm.client.memory.journal import Journal, JournalError
from bestarm.client.memory.upgrade import VERSION

HOLD = """
import sys, time
from bestarm.client.memory.journal import Journal
journal = Journal(sys.argv[1])
print("has it", flush=True)
time.sleep(60)
"""


def state(agent: Agent) -> dict[str, Any]:
    """Everything that an agent is."""
    return {
        name: value for name, value in vars(agent).items() if not name.startswith("_") and name != "method"
    } | {"local": agent.local}


def test_one_process_at_a_time_and_a_kill_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "has it\n"
        with pytest.raises(UserError, match="another process is using it"):
            Journal(path, patience=0.1)
        other.send_signal(signal.SIGKILL)
        other.wait()
    Journal(path, patience=0.1).close()


def test_one_lab_at_a_time_in_a_process_too(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", FakeServer()), pytest.raises(UserError, match="another process"):
        Journal(tmp_path / "lab.db", patience=0.0)
    Journal(tmp_path / "lab.db", patience=0.0).close()


def test_files_that_are_no_journal_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    text, other, newer = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "newer.db"
    text.write_text("this is not a database, and it is long enough to look at; " * 20)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()
    Journal(newer).close()
    with sqlite3.connect(newer) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    sentences = {text: "not a journal", other: "not a journal", newer: "another version of bestarm"}
    for path, sentence in sentences.items():
        before = path.read_bytes()
        with pytest.raises(UserError, match=sentence):
            Journal(path)
        assert path.read_bytes() == before
    with pytest.raises(UserError, match="folder does not exist"):
        Journal(tmp_path / "no" / "lab.db")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE about SET body = '{'",
        "UPDATE about SET body = '{}'",
        "UPDATE about SET body = '[]'",
        "DELETE FROM own",
        "UPDATE batch SET event = 'eaten'",
        "UPDATE batch SET body = 'null'",
        "DROP TABLE batch",
    ],
)
def test_a_damaged_journal_is_one_sentence(tmp_path: Path, damage: str) -> None:
    server = FakeServer()
    with open_lab(tmp_path / "lab.db", server) as lab:
        lab.ask(2)
    with closing(sqlite3.connect(tmp_path / "lab.db")) as database, database:
        database.execute(damage)
    with pytest.raises((UserError, JournalError), match=r"^journal .*lab\.db: ") as refusal:
        open_lab(tmp_path / "lab.db", server).ask()
    assert str(refusal.value).count("journal ") <= 2
    with pytest.raises(UserError, match="can't be opened"):
        Journal(tmp_path)


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", FakeServer()) as lab:
        lab.ask(1)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("lab.db*")}
    assert set(modes.values()) == {0o600}


def test_every_commit_reaches_the_disk(tmp_path: Path) -> None:
    lab = open_lab(tmp_path / "lab.db", FakeServer())
    settings = {
        name: lab.journal._database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "locking_mode")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive"}


def test_months_of_use_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "KEPT", 100)
    monkeypatch.setattr(receipts, "KEPT", 100)
    path = tmp_path / "lab.db"
    fake = FakeServer(name="famabpe", agents=1000)  # every reward is an upload
    lab = open_lab(path, fake)
    lab.journal._database.execute("PRAGMA synchronous = OFF")
    sizes = []
    for _ in range(2):
        for _ in range(150):
            (trial,) = lab.ask()
            lab.tell(trial, 0.5)
        lab.close()
        sizes.append(path.stat().st_size)
        lab = open_lab(path, fake)
    assert len(fake.server.log) > 250
    assert sizes[0] == sizes[1] < 130_000
    assert [lab.journal.find(number) is not None for number in (100, 200, 201, 300)] == [
        False,
        False,
        True,
        True,
    ]
    assert not lab.tell(300, 0.5)
    with pytest.raises(UserError, match="not open any more"):
        lab.tell(200, 0.5)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_the_replay_is_the_agent(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("replay") / "lab.db"
    random, fake = Random(seed), FakeServer(name="sharp", agents=1)
    lab = open_lab(path, fake)
    lab.journal._database.execute("PRAGMA synchronous = OFF")
    for _ in range(40):
        step(lab, random)
        fake.online = random.random() < 0.8
        assert state(lab.journal.replay()) == state(lab.agent)


def step(lab: Lab, random: Random) -> None:
    """Something that a site does."""
    choice = random.random()
    if choice < 0.5 or not lab.open:
        lab.ask(random.randint(1, 4))
    elif choice < 0.9:
        for trial in random.sample(lab.open, random.randint(1, len(lab.open))):
            lab.tell(trial, random.gauss(0.0, 0.3))
    elif choice < 0.95:
        lab.give_back(random.choice(lab.open))
    elif lab.connection.http._transport.online:  # type: ignore[attr-defined]
        lab.leave()
