"""A database that is put back behind its sites: they send again what it lost, once the coordinator says so."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import Postgres
from sqlalchemy import text
from stored import look
from uploads import small_problem

import bestarm
from bestarm.client.lab import Lab
from bestarm.errors import UserError
from bestarm.protocol.entries import Restored
from bestarm.service.storage import Storage
from bestarm.service.view.exports.export import export_json
from bestarm.service.view.exports.verify import verify
from bestarm.strict_json import QUICK

STUDY = "screen"
PutBack = Callable[[], None]


def backup(url: str, folder: Path, request: pytest.FixtureRequest) -> PutBack:
    """Copy the whole database; what is returned puts the copy in its place."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(folder / "copy.db")) as copy:
            source.backup(copy)

        def put_back() -> None:
            for name in ("-wal", "-shm"):
                file.with_name(file.name + name).unlink(missing_ok=True)
            shutil.copyfile(folder / "copy.db", file)

        return put_back
    cluster: Postgres = request.getfixturevalue("cluster")
    name = url.partition("@/")[2].partition("?")[0]

    def run(*statements: str) -> None:
        with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    run(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    return lambda: run(f"DROP DATABASE {name}", f"CREATE DATABASE {name} TEMPLATE {name}_copy")


def site(url: str, agent: str, folder: Path) -> Lab:
    return bestarm.connect(url, study=STUDY, agent=agent, journal=folder / f"{agent}.db")


def work(url: str, folder: Path, agent: str, batches: int) -> None:
    """So many batches of a site, the last of them with a mistake that is corrected."""
    with site(url, agent, folder) as lab:
        for _ in range(batches):
            trials = lab.ask(lab.agent.plan.size)
            for trial in trials:
                lab.tell(trial, 0.5 + 0.01 * (trial.number % 7))
        lab.correct(trials[0], 0.55, "typing mistake")
        lab.sync()


def exported(storage: Storage) -> Any:
    study = storage.find(STUDY)
    assert study is not None
    overview = look(storage, study)
    return QUICK.decode("".join(export_json(overview, storage)))


def test_sites_send_again_what_was_lost(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with closing(Storage(url)) as storage:
        storage.create(bestarm.method("sharp", small_problem(STUDY), 3)).result()
    work(url, tmp_path, "lab-a", 2)
    put_back = backup(url, tmp_path, request)
    for agent in ("lab-a", "lab-b", "lab-a"):
        work(url, tmp_path, agent, 2)
    with closing(Storage(url)) as storage:
        before = exported(storage)
        samples = before["verdict"]["samples"]
    put_back()

    for agent, known in (("lab-a", 2), ("lab-b", 0)):
        with (
            pytest.raises(UserError, match=rf"has {known} uploads .*`bestarm study restored {STUDY}`"),
            site(url, agent, tmp_path) as lab,
        ):
            lab.sync()
    with closing(Storage(url)) as storage:
        study = storage.find(STUDY)
        assert study is not None
        assert exported(storage)["verdict"]["samples"] < samples  # nothing came by itself
        storage.change(study, Restored("r1", "admin 7f", "the disk failed")).result()
    for _ in range(2):  # again is harmless
        for agent in ("lab-b", "lab-a"):
            with site(url, agent, tmp_path) as lab:
                lab.sync()
                assert lab.audit().holds
    with closing(Storage(url)) as storage:
        after = exported(storage)
    assert verify(after).samples == samples == verify(before).samples
    for agent in ("lab-a", "lab-b"):
        sent, again = (
            [one["tally"] for one in export["uploads"] if one["agent"] == agent] for export in (before, after)
        )
        assert sent == again  # each once, in its order
        fixes = [
            sorted(
                (entry["agent"], entry["sequence"], entry["id"])
                for entry in export["entries"]
                if entry["kind"] == "corrected"
            )
            for export in (before, after)
        ]
        assert fixes[0] == fixes[1]
    assert [entry["by"] for entry in after["entries"] if entry["kind"] == "restored"] == ["admin 7f"]
    work(url, tmp_path, "lab-a", 1)  # and goes on
    work(url, tmp_path, "lab-b", 1)


def test_a_site_without_receipts_is_not_told_that_it_will_send_again(
    url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A journal of an earlier version has none; what it can't do is said before and after the word."""
    with closing(Storage(url)) as storage:
        storage.create(bestarm.method("sharp", small_problem(STUDY), 3)).result()
    work(url, tmp_path, "lab-a", 1)
    put_back = backup(url, tmp_path, request)
    work(url, tmp_path, "lab-a", 1)
    put_back()
    (path,) = tmp_path.glob("*lab-a*.db")
    with closing(sqlite3.connect(path)) as journal, journal:
        journal.execute("DELETE FROM receipts")
    with closing(Storage(url)) as storage:
        for said in (False, True):
            if said:
                study = storage.find(STUDY)
                assert study is not None
                storage.change(study, Restored("r1", "admin 7f", "the disk failed")).result()
            with (
                pytest.raises(UserError, match=r"has 1 upload of .* can't send them again") as refused,
                site(url, "lab-a", tmp_path) as lab,
            ):
                lab.sync()
            assert "sends them again" not in str(refused.value)


def test_once_means_once(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A log that is put back a second time needs a second word."""
    with closing(Storage(url)) as storage:
        study = storage.create(bestarm.method("sharp", small_problem(STUDY), 3)).result().study
        storage.change(study, Restored("r1", "admin 7f")).result()
    work(url, tmp_path, "lab-a", 1)
    put_back = backup(url, tmp_path, request)
    work(url, tmp_path, "lab-a", 1)
    put_back()
    with pytest.raises(UserError, match="has lost some"), site(url, "lab-a", tmp_path) as lab:
        lab.sync()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            "UPDATE entries SET body = replace(body, '[', '[1') WHERE sequence = 2",
            "Upload 2 says something else",
        ),
        ("UPDATE entries SET digest = 'x' WHERE sequence = 2", "its receipt is of another log"),
        ("DELETE FROM entries WHERE sequence = 2", "Upload 2 is not in the server's log any more"),
        (None, "as sent"),
    ],
)
def test_a_site_sees_that_its_uploads_were_changed(
    url: str, tmp_path: Path, change: str | None, sentence: str
) -> None:
    with closing(Storage(url)) as storage:
        storage.create(bestarm.method("sharp", small_problem(STUDY), 3)).result()
    work(url, tmp_path, "lab-a", 3)
    if change is not None:
        with closing(Storage(url)) as storage, storage.engine.begin() as connection:
            connection.execute(text(change))
    with site(url, "lab-a", tmp_path) as lab:
        found = lab.audit()
    assert (found.holds, found.uploads) == (change is None, 3)
    assert sentence in str(found)
