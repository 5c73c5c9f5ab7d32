"""Arms that a site can't do any more, arms that were withdrawn, and studies that were closed or ran out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer
from real_server import RealServer

from bestarm import Lab, Problem, UserError
from bestarm.client.connect import connect

MEASURED = Problem(["A", "B", "C"], name="ligands")
ITEMS = Problem(["A", "B", "C"], name="ligands", items=True)


def opened(server: FakeServer, path: Path, **options: Any) -> Lab:
    return connect("http://fake", token="token-of-lab-a", journal=path, transport=server, **options)


@pytest.mark.parametrize("problem", [MEASURED, ITEMS], ids=["plain", "items"])
@pytest.mark.parametrize("online", [True, False])
def test_an_arm_that_can_not_be_done_any_more(tmp_path: Path, problem: Problem, online: bool) -> None:
    server = RealServer(problem, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=12)
    first = lab.ask(9)  # one of them at least is of each arm
    told = next(trial for trial in first if trial.arm == "B")
    lab.tell(told, 0.5)
    open_before = sum(trial.arm == "B" for trial in lab.open)
    server.online = online
    assert lab.cannot("B", "the bottle is empty") == open_before
    assert lab.cannot("B") == 0
    lab.close()
    lab = opened(server, tmp_path / "lab.db")
    assert lab.status()["cannot"] == {"B": "the bottle is empty"}
    gone = [trial for trial in first if trial.arm == "B" and trial != told]
    for trial in gone:
        with pytest.raises(UserError, match="this site can't do 'B', and trial"):
            lab.tell(trial, 0.5)
    while lab.agent.batches:
        for trial in lab.ask(4):
            assert trial.arm != "B"
            lab.tell(trial, 0.5)
    server.online = True
    lab.sync()
    (upload,) = server.server.log
    assert dict(zip(upload.tally.arms, upload.tally.counts, strict=True))[1] == 1
    assert all(trial.arm != "B" for trial in lab.ask(12))
    lab.can_again("B")
    lab.leave() if lab.agent.local.samples else None
    assert lab.status()["cannot"] == {}
    lab.close()


def test_a_batch_of_nothing_else_goes_and_the_next_plan_has_others(tmp_path: Path) -> None:
    server = RealServer(Problem(["A", "B"], name="ligands"), name="sharp")
    with opened(server, tmp_path / "lab.db", cannot=["A"]) as lab:
        lab.ask(1)
        with pytest.raises(UserError, match="'B' is the last arm that this site can do"):
            lab.cannot("B")
        with pytest.raises(UserError, match="'X' is not an arm of the study; there are A, B"):
            lab.cannot("X")
        with pytest.raises(UserError, match="never said that it can't do 'B'"):
            lab.can_again("B")
        lab.can_again("A")
        assert lab.cannot("B") == 1
        assert not lab.agent.batches
        assert {trial.arm for trial in lab.ask(3)} == {"A"}
    with opened(server, tmp_path / "lab.db") as lab:
        assert {trial.arm for trial in lab.open} == {"A"}


@pytest.mark.parametrize("problem", [MEASURED, ITEMS], ids=["plain", "items"])
def test_open_trials_of_a_withdrawn_arm_are_taken_back(tmp_path: Path, problem: Problem) -> None:
    server = RealServer(problem, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=12)
    trials = lab.ask(12)  # the whole plate, in whatever order
    mine = [trial for trial in trials if trial.arm == "C"]
    lab.tell(mine[0], 0.5)
    server.admin.call("POST", "/v1/studies/ligands/arms/withdraw", {"arm": "C", "reason": "toxic"})
    lab.sync()
    lab.close()
    lab = opened(server, tmp_path / "lab.db")
    assert Counter(trial.arm for trial in lab.open)["C"] == 0
    for trial in mine[1:]:
        with pytest.raises(UserError, match="arm 'C' was withdrawn from the study, and trial"):
            lab.tell(trial, 0.5)
    while lab.agent.batches:
        for trial in lab.ask(4):
            assert trial.arm != "C"
            lab.tell(trial, 0.5)
    assert server.server.log[0].tally.counts[2] == 1  # what was told of it went with the batch
    assert all(trial.arm != "C" for trial in lab.ask(12))
    lab.close()


def test_a_closed_study_hands_out_nothing_until_it_goes_on(tmp_path: Path) -> None:
    server = RealServer(MEASURED, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=12)
    trials = lab.ask(3)
    server.admin.call("POST", "/v1/studies/ligands/close", {"reason": "no money"})
    with pytest.raises(UserError):
        lab.sync()
    assert lab.finished
    assert lab.verdict is None
    assert "closed" in lab.closed
    assert lab.ask(3, wait=None) == []
    assert lab.tell(trials[0], 0.5)  # it stays in the journal
    lab.close()
    server.online = False
    lab = opened(server, tmp_path / "lab.db")
    assert lab.ask(3) == []
    assert lab.status()["closed"] == lab.closed != ""
    assert [row["state"] for row in lab.history()] == ["unsent"]
    server.online = True
    server.admin.call("POST", "/v1/studies/ligands/reopen")
    assert len(lab.ask(3)) == 3
    assert not lab.finished
    lab.close()


def test_a_budget_that_is_used_up(tmp_path: Path) -> None:
    server = RealServer(Problem(["A", "B"], name="ligands", budget=8), name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        while not lab.finished:
            for trial in lab.ask(4):
                lab.tell(trial, 0.5 + trial.number / 1000)
        assert lab.verdict is not None
        assert lab.verdict.arm is None
        assert lab.verdict.reason is not None
        assert lab.verdict.reason.value == "budget"
        assert lab.ask() == []
        from bestarm.cli.lab.words import outlook

        assert outlook(lab).startswith(
            "The study is over, since its budget is used up, and the best arm is not"
        )
