"""A study is the replay of its log: what is answered was committed, once, and in one order."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from stored import PROBLEM, assert_replays, create, log_of, look, pause, send
from uploads import batch, small_problem

import bestarm
from bestarm.core.tally import Tally
from bestarm.errors import Refused, ServiceError, UserError
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.messages import Download, Stop
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage


@pytest.mark.parametrize("method", ["sharp", "famabpe"])
def test_a_study_survives_its_process(opened: Any, method: str) -> None:
    first = opened()
    study = create(first, method=method)
    for sequence in range(1, 6):
        send(first, study, batch(PROBLEM, "lab-a", sequence), batch(PROBLEM, "lab-b", sequence))
    before = look(first, study)
    first.close()

    second = opened()
    found = second.find(PROBLEM.name)
    assert found is not None
    after = look(second, found)
    assert found.problem == PROBLEM
    assert found.method.parameters == study.method.parameters
    assert after.total == before.total
    assert after.verdict == before.verdict
    assert after.stopped_at == before.stopped_at
    assert after.history == before.history
    assert_replays(after)


def test_an_upload_sent_again_gets_the_same_answer(storage: Storage) -> None:
    study = create(storage)
    uploads = [batch(PROBLEM, agent, n, size=1) for n in range(1, 9) for agent in ("lab-a", "lab-b")]
    answers = send(storage, study, *uploads)
    model = Server(study.method)
    replies = [model.receive(upload) for upload in uploads]
    for upload, answer, reply in zip(uploads, answers, replies, strict=True):
        again = storage.take(study, upload).result()
        assert (again.position, again.reply) == (answer.position, answer.reply)
        assert again.reply == reply == model.receive(upload)
        assert not again.new
    assert look(storage, study).uploads == len(uploads)


def test_sent_ten_times_at_once_it_counts_once(storage: Storage) -> None:
    study = create(storage)
    answers = [storage.take(study, batch(PROBLEM, "lab-a", 1)) for _ in range(10)]
    taken = [answer.result() for answer in answers]
    assert {one.position for one in taken} == {1}
    assert all(isinstance(one.reply, Download) and one.reply == taken[0].reply for one in taken)
    assert sum(one.new for one in taken) == 1
    assert look(storage, study).total.samples == 12


@pytest.mark.parametrize(("sequence", "seed", "code"), [(3, 0, "gap"), (2**53, 0, "gap"), (1, 1, "conflict")])
def test_an_upload_that_does_not_fit_changes_nothing(
    storage: Storage, sequence: int, seed: int, code: str
) -> None:
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    before = look(storage, study)
    with pytest.raises(Refused) as refusal:
        send(storage, study, batch(PROBLEM, "lab-a", sequence, seed=seed))
    assert (refusal.value.code, refusal.value.status) == (code, 409)
    after = look(storage, study)
    assert (after.uploads, after.total) == (before.uploads, before.total)
    send(storage, study, batch(PROBLEM, "lab-a", 2))


def test_late_data_is_recorded_and_the_verdict_stays(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    (answer,) = send(storage, study, batch(PROBLEM, "lab-a", 1, size=200))
    assert isinstance(answer.reply, Stop)
    assert answer.reply.verdict.arm == "A"
    late = Upload(PROBLEM.fingerprint, "lab-b", 1, Tally.of([0, 500, 0], [0.0, 5000.0, 0.0]))
    (told,) = send(storage, study, late)
    assert told.reply == answer.reply
    for source in (storage, opened()):
        snapshot = look(source, study)
        assert (snapshot.verdict, snapshot.stopped_at, snapshot.uploads) == (answer.reply.verdict, 1, 2)
        assert (snapshot.total.samples, snapshot.communications) == (1100, 2)
        assert source.take(study, late).result().reply == answer.reply


def test_numbers_come_back_bit_for_bit(opened: Any) -> None:
    study = create(opened())
    sums = [0.1 + 0.2, 5e-324, -0.0, 1e99, -1.7976931348623157e22, 2**53 + 0.0]
    pulls = [1, 2**52, 7, 10**6, 3, 1]
    uploads = [
        Upload(PROBLEM.fingerprint, "lab-a", n, Tally.of([1, count, 1], [0.5, total, 1 / 3]))
        for n, (count, total) in enumerate(zip(pulls, sums, strict=True), 1)
    ]
    send(opened(), study, *uploads)
    logged = log_of(look(opened(), study))
    for sent, kept in zip(uploads, logged, strict=True):
        assert kept.tally.pulls.tolist() == sent.tally.pulls.tolist()
        assert kept.tally.reward_sums.tobytes() == sent.tally.reward_sums.tobytes()


@pytest.mark.parametrize("pulls", [2**53 - 3, 2**52])
def test_numbers_too_large_to_add_are_refused_alone(storage: Storage, pulls: int) -> None:
    study = create(storage)
    huge = Upload(PROBLEM.fingerprint, "lab-b", 1, Tally.of([pulls] * 3, [0.0] * 3))
    with pause(storage):
        good = storage.take(study, batch(PROBLEM, "lab-a", 1))
        bad = storage.take(study, huge)
        more = storage.take(study, batch(PROBLEM, "lab-a", 2))
    assert (good.result().position, more.result().position) == (1, 2)
    with pytest.raises(UserError, match="too large"):
        bad.result()
    snapshot = look(storage, study)
    assert snapshot.total.samples == 24
    assert_replays(snapshot)


def test_what_waits_together_is_committed_together(storage: Storage) -> None:
    studies = [create(storage, small_problem(f"study-{k}")) for k in range(3)]
    before = storage.counters.commits
    with pause(storage):
        answers = [
            storage.take(study, batch(study.problem, f"lab-{agent}", 1))
            for study in studies
            for agent in range(20)
        ]
    assert [answer.result().position for answer in answers] == list(range(1, 21)) * 3
    assert storage.counters.commits == before + 2  # the pause, and all sixty uploads


def test_one_request_that_fails_does_not_take_others_with_it(storage: Storage) -> None:
    study = create(storage)

    def broken(work: Any) -> None:
        work.take(study, batch(PROBLEM, "lab-b", 1), "2026-01-01T00:00:00.000Z")
        raise KeyError("a mistake of ours")

    with pause(storage):
        first = storage.take(study, batch(PROBLEM, "lab-a", 1))
        wrong = storage._submit(broken, study, writes=True)
        second = storage.take(study, batch(PROBLEM, "lab-a", 2))
    assert (first.result().position, second.result().position) == (1, 2)
    with pytest.raises(KeyError):
        wrong.result()
    snapshot = look(storage, study)
    assert [upload.agent for upload in log_of(snapshot)] == ["lab-a", "lab-a"]
    assert_replays(snapshot)


def test_a_closed_study_is_readable_and_takes_nothing(opened: Any) -> None:
    storage, other = opened(), opened()
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    assert storage.set_closed(study, True, "admin 1").result().state == "closed"
    for source in (storage, other):
        assert look(source, study).state == "closed"
        assert not source.take(study, batch(PROBLEM, "lab-a", 1)).result().new  # sent again: the same answer
        for refused in (source.take(study, batch(PROBLEM, "lab-a", 2)), source.join(study, Join("lab-a"))):
            with pytest.raises(Refused) as refusal:
                refused.result()
            assert refusal.value.code == "closed"
    assert storage.set_closed(study, True, "admin 2").result().length == 2  # closed already
    assert other.set_closed(study, False, "admin 3").result().state == "open"
    assert other.set_closed(study, False, "admin 3").result().length == 3
    assert [(row.kind, json.loads(row.body).get("by")) for row in storage.entries(study, 3)][1:] == [
        ("closed", "admin 1"),
        ("reopened", "admin 3"),
    ]
    assert storage.join(study, Join("lab-a")).result()[0] == 1
    assert storage.join(study, Join("lab-b")).result()[0] == 0


def test_a_name_is_taken_once(opened: Any) -> None:
    storages = [opened(), opened()]
    method = bestarm.method("sharp", PROBLEM, agents=4)
    made = [storage.create(method) for storage in storages for _ in range(3)]
    refusals = []
    for pending in made:
        try:
            pending.result()
        except Refused as refusal:
            refusals.append(refusal.code)
    assert refusals == ["exists"] * (len(made) - 1)
    assert storages[0].names() == [PROBLEM.name]


def test_several_processes_keep_one_order(opened: Any) -> None:
    storages = [opened() for _ in range(3)]
    study = create(storages[0])
    failures: list[BaseException] = []

    def agent(name: str) -> None:
        chance = random.Random(name)
        try:
            for sequence in range(1, 21):
                upload = batch(PROBLEM, name, sequence, size=1)
                positions = {
                    chance.choice(storages).take(study, upload).result().position
                    for _ in range(chance.choice([1, 1, 2]))
                }
                assert len(positions) == 1
        except BaseException as failure:
            failures.append(failure)

    agents = [threading.Thread(target=agent, args=(f"lab-{k}",)) for k in range(6)]
    for thread in agents:
        thread.start()
    for thread in agents:
        thread.join()
    assert not failures
    snapshots = [look(storage, study) for storage in [*storages, opened()]]
    for snapshot in snapshots:
        assert snapshot.uploads == 120
        assert snapshot.total == snapshots[0].total
        assert snapshot.verdict == snapshots[0].verdict
        assert_replays(snapshot)


GIVEN_OUT = "verdict that was given out"
CHANGED = "its digest is another"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE entries SET body = replace(body, '\"A\":[200,', '\"A\":[201,') WHERE position = 1", CHANGED),
        ("UPDATE entries SET received_at = '2020-01-01T00:00:00.000Z' WHERE position = 2", CHANGED),
        ("UPDATE entries SET decision = NULL WHERE position = 1", CHANGED),
        ("UPDATE entries SET digest = '' WHERE position = 2", CHANGED),
        ("UPDATE studies SET agents = 7", CHANGED),
        ("UPDATE studies SET verdict = replace(verdict, '600', '599')", GIVEN_OUT),
        ("UPDATE studies SET stopped_at = NULL, verdict = NULL", GIVEN_OUT),
        ("UPDATE studies SET verdict = '{}'", GIVEN_OUT),
        ("UPDATE studies SET verdict = 'gone'", GIVEN_OUT),
        ("DELETE FROM entries WHERE position = 1", "position 1 is missing"),
        ("UPDATE entries SET body = replace(body, '\"A\"', '\"Z\"') WHERE position = 2", "at position 2"),
        ("UPDATE entries SET body = replace(body, ' ', '') || ' x' WHERE position = 2", "at position 2"),
        ("UPDATE entries SET id = 'lab-a/7' WHERE position = 2", "its id is 'lab-a/7'"),
        ("UPDATE entries SET kind = 'gone' WHERE position = 2", "at position 2"),
        ("UPDATE entries SET body = '[]' WHERE position = 2", "at position 2"),
        ("UPDATE studies SET method = 'gone'", "can't work with it"),
        ("UPDATE studies SET problem = 'gone'", "can't work with it"),
        ("UPDATE studies SET parameters = '[]'", "can't work with it"),
    ],
)
def test_a_log_that_was_tampered_with_is_not_served(opened: Any, change: str, sentence: str) -> None:
    storage = opened()
    study = create(storage)
    other = create(storage, small_problem("other"))
    send(storage, study, batch(PROBLEM, "lab-a", 1, size=200), batch(PROBLEM, "lab-a", 2))
    with storage.engine.begin() as connection:
        connection.execute(text(f"{change}{' AND' if 'WHERE' in change else ' WHERE'} {of(change)}"))
    fresh = opened()
    fresh.load()  # says it in the log, and does not fail: the other studies go on
    with pytest.raises(ServiceError, match=sentence):
        look(fresh, fresh.find(PROBLEM.name) or study)
    send(fresh, other, batch(other.problem, "lab-a", 1))


def of(change: str) -> str:
    return f"name = '{PROBLEM.name}'" if "studies" in change else "study_id = 1"


Steps = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.integers(0, 1)), max_size=25)


@given(steps=Steps)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_uploads_is_answered_as_the_protocol_says(url: str, steps: Any) -> None:
    """Repeats, gaps and conflicts in any order: the storage answers as `protocol.Server` does."""
    storage = Storage(url)
    try:
        problem = small_problem(f"study-{len(storage.names())}")
        study = create(storage, problem)
        model = Server(study.method)
        for agent, sequence, seed in steps:
            upload = batch(problem, agent, sequence, size=1, seed=seed)
            try:
                expected = model.receive(upload)
            except ValueError:
                with pytest.raises(Refused):
                    storage.take(study, upload).result()
            else:
                assert storage.take(study, upload).result().reply == expected
        snapshot = look(storage, study)
        assert snapshot.total == model.total
        assert np.array_equal(snapshot.total.pulls, model.total.pulls)
        assert_replays(snapshot)
    finally:
        storage.close()
