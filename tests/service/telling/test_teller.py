"""The teller, step by step, on every storage: nothing is forgotten, nothing is told twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from folders import quick_folder
from postgres import Postgres, postgres
from uploads import batch, small_problem

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Upload
from bestarm.service.http.metrics import metrics
from bestarm.service.http.service import Service
from bestarm.service.storage import Storage, clock
from bestarm.service.storage.study.overview import Charter
from bestarm.service.telling import teller as telling
from bestarm.service.telling.receiver import NotTold
from bestarm.service.telling.teller import LEASE, PATIENCE, Teller

Open = Callable[[], Storage]


class Ear:
    """A receiver within the test; it may fail, or wait."""

    def __init__(self, name: str = "ear") -> None:
        self.name = self.key = name
        self.heard: list[dict[str, Any]] = []
        self.fails = 0
        self.waits: threading.Event | None = None
        self.called = threading.Event()

    def tell(self, body: dict[str, Any], text: str) -> None:
        self.called.set()
        assert json.loads(text) == body
        if self.waits is not None:
            self.waits.wait(30)
        if self.fails:
            self.fails -= 1
            raise NotTold("it is busy")
        self.heard.append(body)

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(one["study"], one["event"]) for one in self.heard]


class Time:
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> Any:
        return clock.now() + self.ahead


@pytest.fixture(scope="module")
def cluster() -> Iterator[Postgres]:
    with postgres(durable=False) as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, time: Time) -> Iterator[Open]:
    storages: list[Storage] = []
    with quick_folder() as folder:
        url = f"sqlite:///{folder / 'bestarm.db'}"
        if request.param == "postgresql":
            url = request.getfixturevalue("cluster").database()

        def another() -> Storage:
            storages.append(Storage(url, now=time))
            return storages[-1]

        yield another
        for storage in storages:
            storage.close()


def create(storage: Storage, name: str = "ligands", **fields: Any) -> Charter:
    problem = bestarm.Problem.from_dict(small_problem(name).to_dict() | fields)
    return storage.create(bestarm.method("sharp", problem, agents=2)).result().study


def settle(storage: Storage, study: Charter, agent: str = "lab-a") -> None:
    sent = Upload(study.problem.fingerprint, agent, 1, Tally.of([200, 200, 200], [180.0, 100.0, 60.0]))
    assert storage.take(study, sent).result().new


def work(teller: Teller) -> None:
    """What the threads do, once."""
    teller.scan()
    teller.notice()
    for receiver in teller.receivers:
        while teller.tell(receiver):
            pass


def begun(storage: Storage, *ears: Ear) -> Teller:
    teller = Teller(storage, ears, count(0.0, 1000.0).__next__)  # every study is quiet
    teller.begin()
    return teller


def test_what_happens_is_told_once(opened: Open) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    study, other = create(storage), create(storage, "other")
    work(teller)
    assert ear.heard == []
    settle(storage, study)
    storage.set_closed(other, True, "admin 7f", "enough").result()
    work(teller)
    work(teller)
    work(begun(storage, ear))  # as after a restart
    assert sorted(ear.events) == [("ligands", "settled"), ("other", "closed")]
    settled, closed = sorted(ear.heard, key=lambda one: str(one["study"]))
    assert settled["verdict"]["arm"] == "A"
    assert settled["sentence"] == "A is the answer, after 600 samples."
    assert settled["samples"] == 600
    assert (closed["reason"], closed["by"], closed["why"]) == ("closed", "admin 7f", "enough")
    assert closed["sentence"].startswith("The study was closed (enough).")
    storage.set_closed(other, False, "admin 7f").result()
    storage.set_closed(other, True, "admin 7f").result()
    work(teller)
    assert ear.events[2:] == [("other", "closed")]
    assert len({one["id"] for one in ear.heard}) == 3


def test_a_budget_a_deadline_and_a_warning(opened: Open, time: Time) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    create(storage, "in-time", deadline="2099-01-31T00:00:00Z")
    small = create(storage, "small", budget=24)
    for sequence in (1, 2):
        storage.take(small, batch(small.problem, "lab-a", sequence)).result()
    odd = storage.create(
        bestarm.method("sharp", bestarm.Problem(["A", "B"], name="odd", sigma=0.1), agents=2)
    ).result().study  # fmt: skip
    for sequence in range(1, 6):
        much = 60.0 if sequence == 5 else 0.0
        sums = [8.0 + much, 7.9 - much]
        storage.take(odd, Upload(odd.problem.fingerprint, "lab-a", sequence, Tally.of([10, 10], sums))).result()
    work(teller)
    assert ("small", "closed") in ear.events
    assert ("odd", "warning") in ear.events
    assert ("in-time", "closed") not in ear.events
    warned = [one for one in ear.heard if one["event"] == "warning"]
    assert [(one["kind"], one["about"]) for one in warned] == [("batch", "lab-a")]
    assert next(one for one in ear.heard if one["study"] == "small")["reason"] == "budget"
    time.ahead = timedelta(days=40_000)
    work(teller)
    assert next(one for one in ear.heard if one["study"] == "in-time")["reason"] == "deadline"
    told = len(ear.heard)
    work(teller)
    assert len(ear.heard) == told


def test_what_was_before_is_not_told_and_what_came_while_no_server_ran_is(opened: Open, time: Time) -> None:
    storage, ear, later = opened(), Ear(), Ear("later")
    first, second = create(storage), create(storage, "other")
    settle(storage, first)
    time.ahead = timedelta(seconds=1)
    begun(storage, ear)  # and its server is killed
    time.ahead = timedelta(seconds=2)
    settle(storage, second)
    time.ahead = timedelta(seconds=3)
    work(begun(opened(), ear, later))
    assert ear.events == [("other", "settled")]
    assert later.heard == []


def test_failures_are_tried_again_later_and_later(opened: Open, time: Time) -> None:
    storage, ear, fine = opened(), Ear(), Ear("fine")
    teller = begun(storage, ear, fine)
    settle(storage, create(storage))
    ear.fails = 3
    work(teller)
    assert fine.events == [("ligands", "settled")]
    assert list(storage.untold().values()) == [1]
    for seconds in (1, 2, 4):
        assert ear.heard == []
        time.ahead += timedelta(seconds=seconds - 0.5)
        work(teller)
        assert ear.heard == []
        time.ahead += timedelta(seconds=0.7)
        work(teller)
    assert ear.events == [("ligands", "settled")]
    assert len(fine.heard) == 1
    assert storage.untold() == {}


def test_after_a_week_it_is_given_up(opened: Open, time: Time) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    study = create(storage)
    settle(storage, study)
    ear.fails = 1
    teller.scan()
    teller.notice()
    assert storage.untold() == {(study.id, False): 1}
    time.ahead = PATIENCE + timedelta(minutes=1)
    work(teller)
    time.ahead *= 2
    work(teller)
    assert ear.heard == []
    assert storage.untold() == {(study.id, True): 1}
    text = metrics(Service(storage), ([storage.look(study).result()], 0), storage.untold())
    assert 'bestarm_news{study="ligands",state="waiting"} 0\n' in text
    assert 'bestarm_news{study="ligands",state="given-up"} 1\n' in text


def test_two_servers_tell_once(opened: Open) -> None:
    first, second = opened(), opened()
    ears = Ear(), Ear()
    tellers = [begun(storage, ear) for storage, ear in zip((first, second), ears, strict=True)]
    studies = [create(first, f"study-{k}") for k in range(8)]
    for study in studies:
        settle(first, study)
    for teller in tellers:
        teller.scan()
    threads = [threading.Thread(target=work, args=(teller,)) for teller in tellers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    told = [one["study"] for ear in ears for one in ear.heard]
    assert sorted(told) == [study.name for study in studies]
    assert len({one["id"] for ear in ears for one in ear.heard}) == 8


def test_a_server_that_dies_with_news_in_its_hands(opened: Open, time: Time) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    settle(storage, create(storage))

    class Died(BaseException):
        pass

    class Fatal(Ear):
        def tell(self, body: dict[str, Any], text: str) -> None:
            self.heard.append(body)
            raise Died

    fatal = Fatal()
    teller.scan()
    teller.notice()
    with suppress(Died):
        teller.tell(fatal)
    work(begun(opened(), ear))
    assert ear.heard == []  # it may still be under way
    time.ahead = LEASE + timedelta(seconds=1)
    work(begun(opened(), ear))
    assert [one["id"] for one in ear.heard] == [one["id"] for one in fatal.heard]


def test_a_receiver_that_hangs_delays_nobody(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PACE", 0.01)
    storage, ear, fine = opened(), Ear(), Ear("fine")
    ear.waits = threading.Event()
    teller = telling.begin_telling(storage, [ear, fine])
    study = create(storage)
    settle(storage, study)
    assert ear.called.wait(20)
    began = clock.now()
    for agent in ("lab-b", "lab-c", "lab-d"):  # after the end, and while the receiver hangs
        storage.take(study, batch(study.problem, agent, 1)).result()
    assert fine.called.wait(20)
    teller.close()
    assert (clock.now() - began).total_seconds() < 5
    ear.waits.set()


def test_a_look_does_not_wake_it_for_ever(opened: Open) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    storage.grown = teller.grown
    study = create(storage)
    settle(storage, study)
    work(teller)
    assert not teller._grown
    storage.look(study).result()
    assert not teller._grown


def test_a_busy_study_is_not_held_up_by_looks_for_warnings(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, ear, seconds = opened(), Ear(), [100.0]
    teller = Teller(storage, [ear], lambda: seconds[0])
    teller.begin()
    storage.grown = teller.grown
    study, looks, look = create(storage), [], storage.look

    def counted(study: Charter) -> Any:
        looks.append(seconds[0])
        return look(study)

    monkeypatch.setattr(storage, "look", counted)
    teller.notice()
    assert looks == [100.0]
    for sequence in range(1, 25):  # one in half a second, for twelve seconds
        seconds[0] += 0.5
        storage.take(study, batch(study.problem, "lab-a", sequence, size=1)).result()
        teller.notice()
    assert looks == [100.0, 110.0]
    seconds[0] += 1.0
    teller.notice()
    assert looks[2:] == [113.0]
    settle(storage, study, "lab-b")
    teller.notice()
    assert len(looks) == 4  # at once
    assert teller.tell(ear)


def test_names_go_as_they_are_and_are_cut(opened: Open) -> None:
    storage, ear = opened(), Ear()
    teller = begun(storage, ear)
    names = ["long " + "x" * 3000, '"} <b> \u202e', "C"]
    problem = bestarm.Problem(names, name="hostile", sigma=0.3, sites="alike")
    study = storage.create(bestarm.method("sharp", problem, agents=2)).result().study
    settle(storage, study)
    work(teller)
    assert len(ear.heard[0]["sentence"]) == 2000
    assert ear.heard[0]["verdict"]["arm"] == names[0]
