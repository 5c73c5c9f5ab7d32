"""Sites join: what is new stands in the log, what is not changes nothing, and a plan given out stays so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stored import PROBLEM, assert_replays, create, look, send
from uploads import batch

from bestarm.errors import Refused, UserError
from bestarm.protocol.entries import Join
from bestarm.protocol.messages import Download, Stop
from bestarm.service.storage import Storage


def kinds(storage: Storage, study: Any) -> list[str]:
    return [row.kind for row in storage.entries(study, look(storage, study).length)]


def test_a_first_join_is_an_entry_and_a_repeat_gets_the_same_plan(opened: Any) -> None:
    study = create(opened())
    first = opened().join(study, Join("lab-a", "mine")).result()
    assert first[0] == 0
    assert isinstance(first[1], Download)
    assert first[1].plan is not None
    for said in (Join("lab-a", "mine"), Join("lab-a")):
        assert opened().join(study, said).result() == first
    overview = look(opened(), study)
    assert (overview.length, overview.uploads, list(overview.sites)) == (1, 0, ["lab-a"])
    assert overview.sites["lab-a"].plan == first[1].plan.size


@pytest.mark.parametrize("method", ["sharp", "famabpe"])
def test_an_answer_is_the_same_after_a_restart_and_on_another_server(opened: Any, method: str) -> None:
    storage, other = opened(), opened()
    study = create(storage, method=method)
    replies = {"join": storage.join(study, Join("lab-a", plate=6)).result()[1]}
    uploads = [batch(PROBLEM, agent, n, size=1) for n in range(1, 6) for agent in ("lab-a", "lab-b")]
    for upload, taken in zip(uploads, send(storage, study, *uploads), strict=True):
        replies[upload.id] = taken.reply
    assert any(reply.plan is not None for reply in replies.values() if isinstance(reply, Download))
    for source in (storage, other, opened()):
        for upload in uploads:
            assert source.take(study, upload).result().reply == replies[upload.id]
        assert source.join(study, Join("lab-a", plate=6)).result() == (5, replies["lab-a/5"])
    assert look(storage, study).length == 11
    # What is asked for again came from the database: another plan there is another answer.
    with storage.engine.begin() as connection:
        connection.exec_driver_sql("""UPDATE entries SET "plan" = '[["B",7]]' WHERE id = 'lab-a/2'""")
    changed = other.take(study, uploads[2]).result().reply
    assert (changed.plan.arms, changed.plan.counts) == ((1,), (7,))


def test_something_new_is_another_entry(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    plates = [
        storage.join(study, said).result()[1].plan.size
        for said in (
            Join("lab-a"),
            Join("lab-a", "mine"),  # it has a journal now
            Join("lab-a", "mine", plate=24, number=1),
            Join("lab-a", "mine", plate=24, number=1),
            Join("lab-a"),  # the first one again, which was long on its way
            Join("lab-a", "mine", plate=24, cannot=("A",)),  # it does not count
            Join("lab-a", "mine", plate=24, cannot=("A",)),
        )
    ]
    assert plates == [3, 3, 24, 24, 24, 24, 24]
    rows = list(storage.entries(study, look(storage, study).length))
    assert [row.id for row in rows] == [f"lab-a/join/{number}" for number in range(4)]
    for source in (storage, opened()):
        assert source.join(study, Join("lab-a", "mine", 24, ("A",), 3)).result()[1].plan.arms == (1, 2)
        with pytest.raises(UserError, match="'Z' is not an arm"):
            source.join(study, Join("lab-a", "mine", cannot=("Z",))).result()
        assert look(source, study).length == 4


def test_a_second_journal_is_refused(opened: Any) -> None:
    study = create(opened())
    opened().join(study, Join("lab-a", "first")).result()
    for said in (Join("lab-a", "second"), Join("lab-a", "second", 24, number=5)):
        with pytest.raises(Refused, match="another journal") as refusal:
            opened().join(study, said).result()
        assert (refusal.value.code, refusal.value.status) == ("other-journal", 409)
    assert look(opened(), study).length == 1


def test_the_journal_of_another_agent_is_refused_and_does_not_become_its_own(opened: Any) -> None:
    study = create(opened())
    opened().join(study, Join("lab-a", "first")).result()
    with pytest.raises(Refused, match="belongs to agent 'lab-a', and this is 'lab-b'") as refusal:
        opened().join(study, Join("lab-b", "first")).result()
    assert (refusal.value.code, refusal.value.status) == ("other-journal", 409)
    assert look(opened(), study).length == 1
    assert opened().join(study, Join("lab-b", "second")).result()[0] == 0
    assert opened().join(study, Join("lab-a", "first")).result()[0] == 0


def test_an_agent_may_upload_before_it_joins(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1))
    assert storage.join(study, Join("lab-a")).result()[0] == 1
    assert kinds(storage, study) == ["uploaded", "joined"]
    assert_replays(look(storage, study))


def test_who_comes_after_the_stop_gets_the_verdict(opened: Any) -> None:
    storage = opened()
    study = create(storage)
    storage.join(study, Join("lab-a")).result()
    (taken,) = send(storage, study, batch(PROBLEM, "lab-a", 1, size=200))
    assert isinstance(taken.reply, Stop)
    for source in (storage, opened()):
        for agent in ("lab-a", "lab-b"):
            assert source.join(study, Join(agent)).result()[1] == taken.reply
    overview = look(opened(), study)
    assert (overview.stopped_at, overview.uploads, overview.length) == (1, 1, 3)


def test_a_site_was_last_seen_when_it_last_called(opened: Any) -> None:
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    storage = opened(now=lambda: moment[0])
    study = create(storage)
    seen = []
    for act in (
        lambda: storage.join(study, Join("lab-a")),
        lambda: storage.take(study, batch(PROBLEM, "lab-a", 1)),
        lambda: storage.join(study, Join("lab-a")),
    ):
        moment[0] += timedelta(minutes=1)
        act().result()
        seen.append(look(storage, study).sites["lab-a"].last_seen[11:16])
    assert seen == ["00:01", "00:02", "00:03"]
    # A join that said nothing new is not in the log: another process does not know of it.
    assert look(opened(), study).sites["lab-a"].last_seen[11:16] == "00:02"
