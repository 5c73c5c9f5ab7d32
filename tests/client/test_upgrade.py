"""Journals of the first version: they open here with nothing lost, whenever the process dies on the way."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from fatal import Fuse, Killed, Statements
from serving import Local

from bestarm import Problem, Trial
from bestarm.client.lab import Lab
from bestarm.client.memory.identity import Said
from bestarm.client.memory.journal import Journal
from bestarm.client.memory.upgrade import FIRST, STEPS, VERSION, terms_of
from bestarm.client.server.connection import Connection
from bestarm.protocol.agent import State
from bestarm.service.http.app import create_app
from bestarm.service.storage import Storage

GOLDEN = Path(__file__).parents[1] / "golden" / "service-0.1.0"
TOKENS = json.loads((GOLDEN / "tokens.json").read_text())
PROBLEMS = [
    Problem(["A", "B"], sigma=0.3),
    Problem(["A", "Ü"], reward_range=(-1.0, 3.0), delta=0.001, epsilon=0.25, name="ranged", means=[0.0, 1.0]),
    Problem(["A", "B"], sigma=1, features=[[1.0, 0.0], [0.6, 1 / 3]], theta=[0.5, 0.25]),
]


class Heard(httpx.BaseTransport):
    """A network that remembers what was uploaded."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner = inner
        self.uploads: list[bytes] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/uploads"):
            self.uploads.append(request.read())
        return self.inner.handle_request(request)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Heard]:
    """The study as the first version stored it, served by this one."""
    shutil.copy(GOLDEN / "storage.sqlite", tmp_path / "storage.db")
    with closing(Storage(f"sqlite:///{tmp_path / 'storage.db'}")) as storage:
        local = Local(create_app(storage))
        yield Heard(local)
        local.close()


def copy(tmp_path: Path, agent: str) -> Path:
    path = tmp_path / f"{agent}.db"
    shutil.copy(GOLDEN / f"open-{agent}.sqlite", path)
    return path


def lab_of(path: Path, agent: str, transport: httpx.BaseTransport) -> Lab:
    connection = Connection("http://local", TOKENS[f"open/{agent}"], transport=transport)
    return Lab(connection, Journal(path, patience=0.0), "open")


def contents(path: Path, *tables: str) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as database:
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in tables} | {
            "version": database.execute("PRAGMA user_version").fetchone()[0]
        }


def test_an_open_batch_goes_on(tmp_path: Path, server: Heard) -> None:
    path = copy(tmp_path, "lab-a")
    before = contents(path, "batch", "told")
    assert before["version"] == FIRST
    Journal(path).close()
    after = contents(path, "batch", "told")
    assert [(trial, arm, reward) for _, trial, _, arm, reward, *_ in after["told"]] == before["told"]
    kept = [row[1:-2] for row in after["batch"] if row[1] != "begun"]  # the batch has a plan of its own now
    assert kept == [row[1:] for row in before["batch"]]
    assert after["version"] == VERSION
    with lab_of(path, "lab-a", server) as lab:
        assert lab.agent.state is State.WORKING
        assert (lab.agent.sequence, lab.agent.next_number) == (2, 11)
        assert lab.open == [Trial(10, "B")]
        assert lab.status()["told"] == 3
        assert not lab.tell(3, lab.journal.find(3).reward)  # type: ignore[union-attr]
        assert lab.terms.fingerprint == lab.problem.fingerprint
        assert lab.journal.said == Said()
        trials = lab.ask(4)
        assert (trials[0], sorted(trial.arm for trial in trials)) == (Trial(10, "B"), ["A", "A", "A", "B"])
        for trial in trials:
            lab.tell(trial, 0.5)
        (sent,) = server.uploads
        assert json.loads(sent)["sequence"] == 3
        assert {arm: row[0] for arm, row in json.loads(sent)["tally"].items()} == {"A": 3, "B": 3, "C": 1}
        assert lab.agent.upload is None


def test_an_upload_that_waits_is_sent_with_the_same_bytes(tmp_path: Path, server: Heard) -> None:
    path = copy(tmp_path, "lab-b")
    (waiting,) = (row[-1] for row in contents(path, "batch")["batch"] if row[1] == "upload")
    with lab_of(path, "lab-b", server) as lab:
        assert lab.agent.state is State.SENDING
        lab.sync()
        assert [json.dumps(json.loads(body)) for body in server.uploads] == [waiting]
        assert (lab.agent.state, lab.agent.sequence) == (State.WORKING, 2)
        assert lab.ask()[0].number == 9


def test_an_audit_says_which_uploads_have_no_receipt(tmp_path: Path, server: Heard) -> None:
    none = "The journal has no receipt of the 2 uploads that were sent before, so they were not compared."
    with lab_of(copy(tmp_path, "lab-a"), "lab-a", server) as lab:
        found = lab.audit()
        assert (found.holds, found.uploads, str(found)) == (True, 0, none)
        for trial in lab.ask(4):
            lab.tell(trial, 0.5)
        found = lab.audit()
        assert (found.holds, found.uploads) == (True, 1)
        assert str(found) == f"The server's log has the last upload of this site, as sent. {none}"


def test_a_process_that_dies_on_the_way_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, points = copy(tmp_path, "lab-a"), 0
    tables = ("about", "own", "batch", "told")
    before = contents(path, *tables)
    connect = sqlite3.connect

    def dies(point: int) -> bool:
        fuse = Fuse(point)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", lambda *words, **more: Statements(connect(*words, **more), fuse))
            try:
                Journal(path, patience=0.0).close()
            except Killed:
                return True
        return False

    while dies(points) and contents(path)["version"] == FIRST:
        assert contents(path, *tables) == before
        points += 1
    assert points > 20
    with closing(Journal(path, patience=0.0)) as journal:
        assert journal.replay().open == {10: 1}
        assert len(journal.seed) == 16
        assert (journal.id,) == before["own"][0]


def test_a_journal_that_never_joined_can_join(tmp_path: Path) -> None:
    path = copy(tmp_path, "lab-a")
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("about", "batch", "told"):
            database.execute(f"DELETE FROM {table}")
    with closing(Journal(path)) as journal:
        assert (journal.identity, journal.said) == (None, None)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_terms_have_the_problems_fingerprint(problem: Problem) -> None:
    written = json.loads(json.dumps(problem.to_dict()))
    terms = terms_of(written)
    assert terms.fingerprint == problem.fingerprint
    assert (terms.name, terms.arms, terms.sigma) == (problem.name, problem.arms, problem.sigma)
    assert (terms.reward_range, terms.centre) == (problem.reward_range, problem.centre)
    features = None if problem.features is None else problem.features.tolist()
    assert (None if terms.features is None else [list(row) for row in terms.features]) == features


def test_a_journal_without_receipts_gets_room_for_them(tmp_path: Path) -> None:
    """Version 4 had all but these; the steps are a table, from each version to the next."""
    path = tmp_path / "lab.db"
    Journal(path, seed="a").close()
    with closing(sqlite3.connect(path)) as database:
        for table in ("receipts", "restored"):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version = 4")
        database.commit()
    with closing(Journal(path)) as journal:
        assert journal.seed == "a"
        assert list(journal.receipts.after(0)) == []
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert [*STEPS] == [*range(FIRST, VERSION)]
