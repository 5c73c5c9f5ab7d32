"""States that are kept: a start, a failure and a repeat read what came since, never the whole log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from postgres import Postgres, postgres
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError
from stored import PROBLEM, assert_replays, create, look, pause, send
from uploads import batch, small_problem

import bestarm
from bestarm.core.tally import Tally
from bestarm.errors import Refused, ServiceError
from bestarm.protocol.entries import ArmWithdrawn, Correction, Join, Upload
from bestarm.protocol.fold import Fold
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.kept import snapshots
from bestarm.service.storage.kept.loader import Loading
from bestarm.service.storage.rows import log
from bestarm.service.storage.study.overview import Charter, Overview

EVERY = 20
UPLOADS = 90


@contextmanager
def folds() -> Iterator[list[int]]:
    """How many uploads were folded, by anybody."""
    count, real = [0], Fold.add

    def counted(self: Fold, upload: Upload, site: int) -> None:
        count[0] += 1
        real(self, upload, site)

    with patch.object(Fold, "add", counted):
        yield count


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    with patch.object(snapshots, "ENTRIES", EVERY), patch.object(snapshots, "TOTALS", EVERY):
        yield


def uploads(problem: bestarm.Problem = PROBLEM, number: int = UPLOADS) -> list[Upload]:
    return [batch(problem, f"lab-{k % 3}", k // 3 + 1, size=1, seed=k) for k in range(number)]


def positions(storage: Storage, kind: str = snapshots.STATE) -> list[int]:
    query = "SELECT position FROM snapshots WHERE kind = :kind ORDER BY position"
    with storage.engine.connect() as connection:
        return [row[0] for row in connection.execute(text(query), {"kind": kind})]


def when(true: Callable[[], bool]) -> None:
    """Wait for what is done beside."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def long_study(storage: Storage, method: str = "sharp") -> tuple[Charter, list[Any]]:
    study = create(storage, small_problem(), method)
    answers = send(storage, study, *uploads(study.problem))
    when(lambda: max(positions(storage), default=0) > UPLOADS - 2 * EVERY)
    return study, answers


def same(first: Overview, second: Overview) -> None:
    assert first.total == second.total
    assert (first.verdict, first.now, first.uploads, first.length) == (
        second.verdict,
        second.now,
        second.uploads,
        second.length,
    )
    assert (first.history, first.sites, first.digest) == (second.history, second.sites, second.digest)
    assert repr(first.known) == repr(second.known)
    assert first.warnings == second.warnings
    shown = [[one.to_json(found.method.problem.arms) for one in found.differences] for found in (first, second)]
    assert shown[0] == shown[1]


def test_a_start_reads_what_came_since_a_state_was_kept(opened: Any) -> None:
    storage = opened()
    study, _ = long_study(storage)
    assert len(positions(storage)) == 1  # only the last is of any use
    before, again = look(storage, study), opened()
    with folds() as count:
        after = look(again, study)
    assert count[0] < 2 * EVERY
    same(before, after)
    assert_replays_in_full(after)
    (taken,) = send(again, study, batch(PROBLEM, "lab-z", 1, size=1))
    assert taken.position == UPLOADS + 1


def test_a_storage_that_is_closed_leaves_little_to_read(opened: Any) -> None:
    """Also one that was opened for a moment, as every command does that works without a server."""
    storage = opened()
    study = create(storage, small_problem())
    send(storage, study, *uploads(study.problem, EVERY // 2))  # too few for a state by themselves
    before = look(storage, study)
    storage.close()
    again = opened()
    with folds() as count:
        after = look(again, study)
    assert count[0] == 0
    same(before, after)


def test_a_state_whose_write_was_cut_short_is_written_at_the_end(opened: Any) -> None:
    storage = opened()
    keeper, tried = storage._keeper, []

    def away(rows: list[dict[str, Any]]) -> None:
        tried.append(rows)
        raise Refused("the storage is away", "storage", 503)

    study = create(storage, small_problem())
    with patch.object(keeper, "_write", away):
        send(storage, study, *uploads(study.problem, EVERY + 1))
        when(lambda: bool(tried) and not keeper._under_way)
    before = look(storage, study)
    assert positions(storage) == []
    storage.close()
    again = opened()
    with folds() as count:
        after = look(again, study)
    assert count[0] == 0
    same(before, after)


def test_a_process_that_stops_inside_of_a_transaction_is_cut_off(cluster: Postgres) -> None:
    """PostgreSQL ends its transaction before the others lose their patience; SQLite has nobody to do it."""
    url = cluster.database()
    with closing(Storage(url)) as storage, closing(Storage(url)) as stopped:
        study = create(storage)
        send(storage, study, batch(PROBLEM, "lab-a", 1))
        with suppress(DBAPIError), stopped.engine.connect() as connection:
            connection.execute(text("SELECT id FROM studies FOR UPDATE"))
            taken = storage.take(study, batch(PROBLEM, "lab-a", 2)).result()
            connection.execute(text("SELECT 1"))
            pytest.fail("it still holds its lock")
        assert taken.position == 2


def test_a_restart_of_the_database_costs_what_came_since() -> None:
    """Two servers on it forget nothing that they knew before."""
    with postgres(durable=False) as cluster, ExitStack() as stack:
        url = cluster.database()
        storages = [stack.enter_context(closing(Storage(url))) for _ in range(2)]
        study, _ = long_study(storages[0])
        look(storages[1], study)
        with folds() as count:
            cluster.stop()
            for storage in storages:
                with pytest.raises(Refused, match="can't be reached"):
                    storage.take(study, batch(PROBLEM, "lab-y", 1, size=1)).result()
            cluster.start()
            for sequence in range(1, 4):
                for number, storage in enumerate(storages):
                    upload = batch(PROBLEM, f"lab-{number + 7}", sequence, size=1)
                    assert storage.take(study, upload).result().new
        assert count[0] < UPLOADS  # nobody has read the log from its start
        assert_replays(look(storages[0], study))


def test_a_state_is_written_before_what_waits(opened: Any) -> None:
    """However much is sent at once, what is kept stays close behind."""
    storage = opened()
    study = create(storage, small_problem())
    waiting = [storage.take(study, upload) for upload in uploads(study.problem, 30 * EVERY)]
    for one in waiting:
        one.result()
    when(lambda: max(positions(storage), default=0) > 29 * EVERY)  # also when nobody sends any more


def assert_replays_in_full(overview: Overview) -> None:
    assert overview.uploads <= 1_000
    assert_replays(overview)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE snapshots SET version = 'of another code'",
        "UPDATE snapshots SET digest = 'of another entry'",
        "UPDATE snapshots SET position = position - 1 WHERE kind = 'state'",
        "UPDATE snapshots SET data = version",
        "DELETE FROM snapshots",
    ],
)
def test_a_state_that_does_not_fit_is_thrown_away(opened: Any, change: str) -> None:
    storage = opened()
    study, _ = long_study(storage)
    before = look(storage, study)
    if "data" in change and storage.engine.dialect.name == "postgresql":
        change = "UPDATE snapshots SET data = version::bytea"
    with storage.engine.begin() as connection:
        connection.execute(text(change))
    with folds() as count:
        after = look(opened(), study)
    assert count[0] == UPLOADS
    same(before, after)


def test_a_state_of_a_study_that_was_changed_is_no_state_of_it(opened: Any) -> None:
    """Somebody who has the database can't make a promise weaker behind what was kept."""
    storage = opened()
    long_study(storage)
    with storage.engine.begin() as connection:
        weaker = "UPDATE studies SET problem = replace(problem, '\"delta\": 0.05', '\"delta\": 0.5')"
        assert connection.execute(text(weaker)).rowcount == 1
    fresh = opened()
    study = fresh.find(PROBLEM.name)
    assert study is not None
    assert study.problem.delta == 0.5
    with pytest.raises(ServiceError, match="its digest is another"):
        look(fresh, study)


def test_a_repeat_is_a_look_up(opened: Any) -> None:
    storage = opened()
    study, answers = long_study(storage)
    again = opened()
    look(again, study)
    with folds() as count:
        for upload, answer in zip(uploads(), answers, strict=True):
            found = again.take(study, upload).result()
            assert (found.reply, found.position, found.new) == (answer.reply, answer.position, False)
        with pytest.raises(Refused, match="another tally"):
            again.take(study, batch(PROBLEM, "lab-0", 1, size=2)).result()
    assert count[0] == 0


def test_a_repeat_gets_the_total_of_its_time(opened: Any) -> None:
    """Totals are kept now and then, and corrections count from when they came."""
    storage = opened()
    study = create(storage, small_problem("totals"), "famabpe")
    model, sent = Server(study.method), uploads(study.problem)
    answers = []
    for place, upload in enumerate(sent):
        answers.append((storage.take(study, upload).result().reply, model.receive(upload)))
        if place in (30, 70):
            wrong = Tally.of([1, 2, 3], [0.1, 0.2, 0.3])
            entry = Correction(f"c{place}", "admin", "lab-0", place // 10, wrong)
            storage.change(study, entry).result()
            model.receive(entry)
    assert all(said == expected for said, expected in answers)
    when(lambda: len(positions(storage, snapshots.TOTAL)) >= 3)
    again = opened()
    look(again, study)
    with folds() as count:
        for upload, (reply, _) in zip(sent, answers, strict=True):
            assert again.take(study, upload).result().reply == reply
    assert count[0] == 0


def test_a_total_that_was_moved_to_another_entry_is_thrown_away(opened: Any) -> None:
    """By somebody who has the database, and gave it the digest of that entry too."""
    storage = opened()
    study, answers = long_study(storage, "famabpe")
    when(lambda: len(positions(storage, snapshots.TOTAL)) >= 3)
    its_digest = "SELECT digest FROM entries WHERE study_id = s.study_id AND position = s.position - 1"
    moved = f"UPDATE snapshots AS s SET position = position - 1, digest = ({its_digest}) WHERE kind = 'total'"
    with storage.engine.begin() as connection:
        connection.execute(text(moved))
    again = opened()
    for upload, answer in zip(uploads(study.problem), answers, strict=True):
        assert again.take(study, upload).result().reply == answer.reply


def test_a_lost_connection_costs_what_came_since(opened: Any) -> None:
    storage = opened()
    study, _ = long_study(storage)
    other = create(storage, small_problem("other"))
    send(storage, other, batch(other.problem, "lab-a", 1))
    dialect = storage.engine.dialect
    real, calls = dialect.do_commit, []

    def failing(connection: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OperationalError("", {}, RuntimeError("the connection was lost"))
        real(connection)

    with folds() as count:
        with patch.object(dialect, "do_commit", failing):
            (taken,) = send(storage, study, batch(PROBLEM, "lab-z", 1, size=1))
        send(storage, other, batch(other.problem, "lab-a", 2))
    assert taken.position == UPLOADS + 1
    assert count[0] < 2 * EVERY + 4
    assert_replays(look(storage, study))


def test_a_lock_that_is_held_forgets_nothing(opened: Any) -> None:
    storage, other = opened(), opened()
    study, _ = long_study(storage)
    upload = batch(PROBLEM, "lab-z", 1, size=1)
    dialect = storage.engine.dialect.name
    with other.engine.connect() as connection:
        if dialect == "sqlite":
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("SET idle_in_transaction_session_timeout = 0")
            connection.exec_driver_sql("SELECT id FROM studies FOR UPDATE")
        with folds() as count:
            began = time.monotonic()
            with pytest.raises(Refused) as refusal:
                storage.take(study, upload).result()
            assert (refusal.value.code, refusal.value.status) == ("storage", 503)
            assert "lock" in str(refusal.value)
            assert time.monotonic() - began < 9  # it waits once
        connection.exec_driver_sql("ROLLBACK")
    with folds() as again:
        assert storage.take(study, upload).result().new
    assert count[0] == 0
    assert again[0] == 1


def test_who_comes_while_a_study_is_read_is_told_and_others_go_on(opened: Any) -> None:
    storage = opened()
    study, other = create(storage), create(storage, small_problem("other"))
    send(storage, study, *uploads(PROBLEM, 12))
    fresh = opened()
    fresh.be_patient(0.05)
    reading: list[int] = []
    real = log.replay

    def slow(ledger: Any, rows: Any, short: bool = False) -> Any:
        if ledger.study.id == study.id and len(reading) < 30:
            reading.append(1)
            time.sleep(0.05)
        return real(ledger, rows, short)

    with (
        patch.object(log, "replay", slow),
        patch.object(log, "TOGETHER", 2),
        patch.object(log, "FROM", log.FROM.limit(2)),
    ):
        first = fresh.take(study, batch(PROBLEM, "lab-z", 1, size=1))
        assert fresh.take(other, batch(other.problem, "lab-a", 1)).result().new
        with pytest.raises(Loading) as refusal:
            first.result()
        assert (refusal.value.code, refusal.value.status, refusal.value.seconds) == ("loading", 503, 2)
        assert fresh.loading == 1
        when(lambda: fresh.loading == 0)
    assert fresh.take(study, batch(PROBLEM, "lab-z", 1, size=1)).result().new


@pytest.mark.parametrize("change", ["correction", "withdrawal"])
def test_a_long_log_is_read_again_outside_of_the_transaction(opened: Any, change: str) -> None:
    storage, second = opened(), opened()
    study, _ = long_study(storage)
    look(second, study)
    wrong = Tally.of([1, 2, 3], [0.1, 0.2, 0.3])
    entry: Any = Correction("c1", "admin", "lab-0", 2, wrong)
    if change == "withdrawal":
        entry = ArmWithdrawn("w1", "admin", "C")
    inside: list[int] = []
    real = log.Rows.uploads

    def counted(self: log.Rows, after: int = 0, upto: int | None = None) -> Any:
        for upload in real(self, after, upto):
            inside.append(1)
            yield upload

    with patch.object(log, "FEW", 10), patch.object(log.Rows, "uploads", counted):
        position, overview = storage.change(study, entry).result()
        assert position == UPLOADS + 1
        assert len(inside) <= 10  # all else was read outside
        same(overview, look(second, study))  # to which it is news
    model = Server(study.method)
    for one in [*uploads(), entry]:
        model.append(one)
    assert overview.total == model.total
    assert overview.verdict == model.verdict
    same(overview, look(opened(), study))


def test_corrections_that_come_at_once_read_a_long_log_once_each(opened: Any) -> None:
    """Each changes what the next would have read."""
    storage = opened()
    study, _ = long_study(storage)
    wrong = Tally.of([1, 2, 3], [0.1, 0.2, 0.3])
    fixes = [Correction(f"c{number}", "admin", "lab-0", number, wrong) for number in range(1, 9)]
    with patch.object(log, "FEW", 10), folds() as count:
        with pause(storage):
            waiting = [storage.change(study, fix) for fix in fixes]
        overviews = [one.result()[1] for one in waiting]
    assert count[0] == len(fixes) * UPLOADS
    model = Server(study.method)
    for upload in uploads():
        model.append(upload)
    for fix in fixes:
        model.append(fix)
    assert overviews[-1].total == model.total


def test_a_plan_of_many_arms_is_kept_once_and_short(opened: Any) -> None:
    arms = [f"arm-{k}" for k in range(2_000)]
    problem = bestarm.Problem(arms, sigma=0.3, name="wide")
    storage = opened()
    study = create(storage, problem)
    storage.join(study, Join("lab-a")).result()
    answers = {}
    for sequence in range(1, 31):
        upload = Upload(
            problem.fingerprint, "lab-a", sequence, Tally.from_rows({sequence: (1, 0.5)}, len(arms))
        )
        answers[upload] = storage.take(study, upload).result().reply
    with storage.engine.connect() as connection:
        kept = connection.execute(text("SELECT sum(length(plan)) FROM entries")).scalar_one()
    assert kept < 31 * 300
    again = opened()
    for upload, answer in answers.items():
        assert again.take(study, upload).result().reply == answer
    assert np.array_equal(look(again, study).total.pulls[1:31], [1] * 30)
    assert again.join(study, Join("lab-a")).result()[0] == 30
