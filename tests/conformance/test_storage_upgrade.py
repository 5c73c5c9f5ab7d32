"""A storage that version 0.1 made opens, goes on and verifies, with nothing lost; on PostgreSQL as well."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, Table, inspect, text
from stored import assert_replays, look
from uploads import batch

import bestarm
from bestarm.errors import Refused
from bestarm.protocol.decision import close
from bestarm.protocol.entries import Join
from bestarm.protocol.messages import Download, Stop
from bestarm.service.storage import Storage, work
from bestarm.service.storage.rows.database import Pen, open_engine
from bestarm.service.storage.rows.schema import STEPS, VERSION, prepare, version_of
from bestarm.service.storage.rows.tokens import Role, hash_of
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.exports.export import export_json
from bestarm.service.view.exports.verify import verify

FIXTURE = Path(__file__).parents[1] / "golden" / "service-0.1.0"
EXPORTS = json.loads((FIXTURE / "exports.json").read_text())
TOKENS = json.loads((FIXTURE / "tokens.json").read_text())
TABLES = ("studies", "uploads", "sites", "tokens")


def kept() -> dict[str, list[dict[str, Any]]]:
    """The rows that version 0.1 wrote."""
    with closing(sqlite3.connect(f"file:{FIXTURE / 'storage.sqlite'}?mode=ro", uri=True)) as source:
        source.row_factory = sqlite3.Row
        return {table: [dict(row) for row in source.execute(f"SELECT * FROM {table}")] for table in TABLES}


@pytest.fixture
def old(url: str) -> str:
    """The storage as it was: the file itself, or its rows in the tables that version 0.1 made on PostgreSQL."""
    engine = open_engine(url)
    if url.startswith("sqlite"):
        Path(str(engine.url.database)).write_bytes((FIXTURE / "storage.sqlite").read_bytes())
    else:
        with closing(Pen(engine)) as pen, pen.transaction() as connection:
            prepare(connection, STEPS, "2")
            connection.execute(text("DROP TABLE alembic_version"))
            for name, rows in kept().items():
                table = Table(name, MetaData(), autoload_with=connection)
                for row in rows:
                    row |= {"closed": bool(row["closed"])} if name == "studies" else {}
                    connection.execute(table.insert().values(row))
    engine.dispose()
    return url


@pytest.fixture
def storage(old: str) -> Iterator[Storage]:
    storage = Storage(old)
    yield storage
    storage.close()


def found(storage: Storage, name: str) -> Charter:
    study = storage.find(name)
    assert study is not None
    return study


def exported(storage: Storage, name: str) -> dict[str, Any]:
    overview = look(storage, found(storage, name))
    export: dict[str, Any] = json.loads("".join(export_json(overview, storage)))
    return export


def narrowed(given: Any, wanted: Any) -> Any:
    """What is given, with no more keys than are wanted; a number within the tolerance is the wanted one."""
    if isinstance(wanted, float) and isinstance(given, float):
        return wanted if close(wanted, given) else given
    if isinstance(wanted, dict):
        assert given.keys() >= wanted.keys()
        return {key: narrowed(given[key], value) for key, value in wanted.items()}
    if isinstance(wanted, list):
        return [narrowed(one, another) for one, another in zip(given, wanted, strict=True)]
    return given


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_say_what_they_said_and_verify(storage: Storage, name: str) -> None:
    export = exported(storage, name)
    assert narrowed(export, EXPORTS[name]) == EXPORTS[name]
    # An export of that version does not say that its study was closed.
    assert replace(verify(export), reason=None) == replace(verify(EXPORTS[name]), reason=None)
    assert_replays(look(storage, found(storage, name)))
    assert storage.names() == list(EXPORTS)


def test_nothing_is_lost(storage: Storage) -> None:
    rows = kept()
    for study in rows["studies"]:
        entries = exported(storage, study["name"])["entries"]
        sites = [row for row in rows["sites"] if row["study_id"] == study["id"]]
        uploads = [row for row in rows["uploads"] if row["study_id"] == study["id"]]
        joins = [entry for entry in entries if entry["kind"] == "joined"]
        assert [(e["agent"], e["journal"], e["received_at"]) for e in joins] == [
            (row["agent"], row["journal"], row["joined_at"])
            for row in sorted(sites, key=lambda row: row["joined_at"])
        ]
        assert [
            (e["agent"], e["sequence"], e["tally"], e["received_at"])
            for e in entries
            if e["kind"] == "uploaded"
        ] == [
            (row["agent"], row["sequence"], json.loads(row["tally"]), row["received_at"])
            for row in sorted(uploads, key=lambda row: row["position"])
        ]
        assert [e["kind"] for e in entries[len(joins) + len(uploads) :]] == ["closed"] * bool(study["closed"])
        overview = look(storage, found(storage, study["name"]))
        for row in sites:
            times = [upload["received_at"] for upload in uploads if upload["agent"] == row["agent"]]
            assert overview.sites[row["agent"]].last_seen == max([row["joined_at"], *times])
        assert len(overview.sites) == len(sites)
    assert len(storage.tokens(None)) == len(rows["tokens"])
    for name, secret in TOKENS.items():
        token = storage.token(hash_of(secret))
        assert token is not None
        assert (token.role is Role.ADMIN) == (name == "admin")


def test_an_open_study_goes_on(storage: Storage) -> None:
    study = found(storage, "open")
    problem = bestarm.Problem(study.problem.arms, name="open", sigma=0.3, delta=0.001, means=[0.9, 0.6, 0.2])
    assert problem.fingerprint == study.problem.fingerprint
    before = look(storage, study)
    journals = {row["agent"]: row["journal"] for row in kept()["sites"] if row["study_id"] == study.id}
    answers: dict[str, Any] = {}
    for agent, journal in journals.items():
        with pytest.raises(Refused, match="another journal"):
            storage.join(study, Join(agent, "another")).result()
        sequence, answers[agent] = storage.join(study, Join(agent, journal)).result()
        assert sequence == before.sites[agent].uploads
        assert isinstance(answers[agent], Download)
        assert answers[agent].plan is not None  # made when it was first asked for, and kept
    for source in (storage, Storage(str(storage.engine.url.render_as_string(hide_password=False)))):
        for agent, journal in journals.items():
            assert source.join(study, Join(agent, journal)).result()[1] == answers[agent]
        assert look(source, study).sites["lab-a"].plan == answers["lab-a"].plan.size
        if source is not storage:
            source.close()
    assert look(storage, study).length == before.length
    for sequence in range(before.sites["lab-a"].uploads + 1, 100):
        taken = storage.take(study, batch(problem, "lab-a", sequence)).result()
        assert taken.position == before.uploads + sequence - before.sites["lab-a"].uploads
        if isinstance(taken.reply, Stop):
            break
    assert look(storage, study).state == "stopped"
    verify(exported(storage, "open"))


def test_a_finished_study_stays_finished(storage: Storage) -> None:
    study = found(storage, "finished")
    before = look(storage, study)
    assert (before.state, before.verdict.arm) == ("stopped", EXPORTS["finished"]["verdict"]["arm"])
    late = batch(
        bestarm.Problem(study.problem.arms, name="finished", sigma=0.3, means=[0.0, 9.0, 0.0]),
        "lab-c",
        1,
    )
    reply = storage.take(study, late).result().reply
    assert isinstance(reply, Stop)
    assert reply.verdict == before.verdict == look(storage, study).verdict


def test_a_closed_study_can_be_reopened(storage: Storage) -> None:
    study = found(storage, "linear")
    assert look(storage, study).state == "closed"
    with pytest.raises(Refused) as refusal:
        storage.join(study, Join("lab-a")).result()
    assert str(refusal.value) == work.CLOSED.format(name="linear", why="")
    assert storage.set_closed(study, False, "admin 1").result().state == "open"
    assert storage.join(study, Join("lab-a")).result()[0] == look(storage, study).sites["lab-a"].uploads
    verify(exported(storage, "linear"))


def test_an_upgrade_that_is_cut_off_leaves_the_old_storage(old: str) -> None:
    """It ends right before its commit; then it is done again, and nothing was lost."""
    engine = open_engine(old)

    def cut_off() -> None:
        with closing(Pen(engine)) as pen, pen.transaction() as connection:
            prepare(connection)
            assert version_of(connection) == VERSION
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    with engine.connect() as connection:
        assert version_of(connection) == "2"
        assert {*TABLES} <= set(inspect(connection).get_table_names())
        assert "entries" not in inspect(connection).get_table_names()
        counts = [connection.execute(text(f"SELECT count(*) FROM {table}")).scalar() for table in TABLES]
        assert counts == [len(rows) for rows in kept().values()]
    engine.dispose()
    storage = Storage(old)
    assert narrowed(exported(storage, "open"), EXPORTS["open"]) == EXPORTS["open"]
    storage.close()


def test_version_1_had_no_journals(old: str) -> None:
    engine = open_engine(old)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE sites DROP COLUMN journal"))
        connection.execute(text("UPDATE bestarm_schema SET version = 1"))
    engine.dispose()
    storage = Storage(old)
    study = found(storage, "open")
    assert storage.join(study, Join("lab-a", "first")).result()[0] > 0
    with pytest.raises(Refused, match="another journal"):
        storage.join(study, Join("lab-a", "second")).result()
    storage.close()
