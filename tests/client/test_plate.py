"""A site says how many trials fit at once and which arms it can't do, and its plans are made so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer, open_lab
from real_server import RealServer

from bestarm import Lab, UserError
from bestarm.client.connect import connect
from bestarm.client.memory.identity import Said
from bestarm.errors import Refused

pytestmark = pytest.mark.parametrize("make", [FakeServer, RealServer])
Make = Callable[..., FakeServer]


def joins(server: FakeServer) -> list[dict[str, Any]]:
    """What was said, join by join."""
    bodies = [json.loads(body) for path, body in server.seen if path.endswith("/join")]
    return [{key: value for key, value in body.items() if key != "journal"} for body in bodies]


def connected(path: Path, server: FakeServer, **said: Any) -> Lab:
    return connect("http://fake", token="token-of-lab-a", journal=path, transport=server, **said)


def finish_plan(lab: Lab) -> None:
    uploads = lab.agent.sequence
    while lab.agent.sequence == uploads:
        for trial in lab.ask(max(lab.agent.to_hand_out, 1)):
            lab.tell(trial, 0.5)


def test_plans_fit_the_plate_and_have_no_arm_that_cannot_be_done(make: Make, tmp_path: Path) -> None:
    server = make(name="sharp")
    with connected(tmp_path / "lab.db", server, plate=24, cannot=["B"]) as lab:
        for _ in range(3):
            trials = lab.ask(24)
            assert len(trials) == 24
            assert {trial.arm for trial in trials} == {"A", "C"}
            for trial in trials:
                lab.tell(trial, 0.5)
    assert joins(server)[0] == {"plate": 24, "cannot": ["B"], "number": 0}


def test_what_was_said_is_remembered(make: Make, tmp_path: Path) -> None:
    server = make()
    connected(tmp_path / "lab.db", server, plate=6).close()
    with connected(tmp_path / "lab.db", server) as lab:
        finish_plan(lab)
        assert lab.agent.plan.size % 6 == 0
        assert lab.journal.said == Said(6)
    assert joins(server) == [{"plate": 6, "cannot": [], "number": 0}] * len(joins(server))


def test_a_plain_site_says_nothing(make: Make, tmp_path: Path) -> None:
    server = make()
    connected(tmp_path / "lab.db", server).close()
    assert joins(server) == [{}]


def test_something_new_between_two_batches_gives_a_new_plan(make: Make, tmp_path: Path) -> None:
    server = make()
    connected(tmp_path / "lab.db", server).close()
    with connected(tmp_path / "lab.db", server, cannot=["C"], plate=4) as lab:
        assert sorted(trial.arm for trial in lab.ask(4)) == ["A", "A", "B", "B"]
    with connected(tmp_path / "lab.db", server, cannot=[]) as lab:
        assert lab.agent.plan.size == 4  # in the middle of a batch: it is kept
        finish_plan(lab)
        finish_plan(lab)
        assert lab.journal.said == Said(4, (), 2)
    assert [said.get("number", 0) for said in joins(server)][:3] == [0, 1, 2]
    assert server.server.total.pulls.all()


def test_something_new_is_said_when_the_server_is_there_again(make: Make, tmp_path: Path) -> None:
    server = make()
    connected(tmp_path / "lab.db", server).close()
    server.online = False
    with connected(tmp_path / "lab.db", server, plate=5) as lab:
        assert lab.agent.plan.size == 3
    server.online = True
    with connected(tmp_path / "lab.db", server) as lab:
        finish_plan(lab)
        assert lab.agent.plan.size % 5 == 0


def test_an_answer_that_was_lost_is_asked_for_again(make: Make, tmp_path: Path) -> None:
    server = make()
    connected(tmp_path / "lab.db", server).close()
    server.answers_get_lost = True
    with connected(tmp_path / "lab.db", server, plate=5) as lab:
        assert lab.agent.plan.size == 3
    server.answers_get_lost = False
    with connected(tmp_path / "lab.db", server) as lab:
        lab.sync()
        assert lab.agent.plan.size == 5
    assert [said.get("number", 0) for said in joins(server)] == [0, 1, 1]


def test_what_is_refused_is_not_remembered(make: Make, tmp_path: Path) -> None:
    server = make()
    with pytest.raises(Refused, match="'X' is not an arm of the study"):
        connected(tmp_path / "lab.db", server, cannot=["X"])
    with connected(tmp_path / "lab.db", server, plate=3) as lab:
        assert len(lab.ask(3)) == 3
    with pytest.raises(Refused, match="must be able to do at least one arm"):
        connected(tmp_path / "lab.db", server, cannot=["A", "B", "C"])
    with connected(tmp_path / "lab.db", server) as lab:
        lab.sync()
        assert (lab.journal.said.plate, lab.journal.said.cannot) == (3, ())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"plate": 0}, "plate is 0; it must be a whole number"),
        ({"plate": True}, "plate is True"),
        ({"plate": 2.0}, "plate is 2.0"),
        ({"cannot": "A"}, "cannot is 'A'; it must be a list of arms"),
        ({"cannot": [1]}, "cannot is"),
    ],
)
def test_what_no_site_can_mean(make: Make, tmp_path: Path, said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        open_lab(tmp_path / "lab.db", make(), **said)
