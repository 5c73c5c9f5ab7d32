"""A told reward is corrected: before its batch was sent, while it waits, afterwards, and after the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from fake_server import FakeServer, open_lab
from fatal import Fuse, Killed, Statements, Wire
from real_server import RealServer

from bestarm import Lab, Problem, UserError
from bestarm.client.connect import connect
from bestarm.client.memory.journal import Journal
from bestarm.client.memory.past import tally_of

pytestmark = pytest.mark.usefixtures("_both_ways")

ARMS = ["A", "B", "C"]
MEASURED = Problem(ARMS, name="ligands")
BETS = Problem(ARMS, name="ligands", reward_range=(0.0, 1.0))
ITEMS = Problem(ARMS, name="ligands", items=True)
YES_NO = Problem(["A", "B"], name="ligands", rewards="yes-no")


def opened(server: FakeServer, path: Path, **options: Any) -> Lab:
    return connect("http://fake", token="token-of-lab-a", journal=path, transport=server, **options)


def fill(lab: Lab, random: Random, n: int = 12) -> list[int]:
    """Tell a plate of rewards; the numbers of the trials."""
    trials = lab.ask(n)
    for trial in trials:
        lab.tell(trial, random.uniform(0.3, 0.9), sure=True)
    return [trial.number for trial in trials]


def entries(server: RealServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.admin.call("GET", "/v1/studies/ligands/export")["entries"]
    return found


def test_before_the_upload_nobody_hears_of_it(tmp_path: Path) -> None:
    server = FakeServer(MEASURED, name="sharp")
    with opened(server, tmp_path / "lab.db", plate=3) as lab:
        first, second, third = lab.ask(3)
        lab.tell(first, 84)
        assert lab.correct(first, 0.84, "decimal point")
        assert not lab.correct(first, 0.84)
        assert not lab.tell(first, 0.84)
        with pytest.raises(
            UserError, match=r"trial 1 was told 0.84 and now 84.0; if that was a mistake, correct"
        ):
            lab.tell(first, 84)
        lab.tell(second, 0.5)
        lab.tell(third, 0.25)
    (body,) = server.bodies
    assert json.loads(body)["tally"][first.arm][:2] == [1, 0.84]
    assert not any(path.endswith("corrections") for path, _ in server.seen)


def test_offline_an_upload_that_never_left_is_made_anew(tmp_path: Path) -> None:
    server = FakeServer(MEASURED, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=3)
    trials = lab.ask(3)
    server.online = False
    for trial in trials:
        lab.tell(trial, 0.5 if trial.number > 1 else 84)
    assert lab.status()["unsent"] == 1
    assert lab.correct(1, 0.84)
    lab.close()
    server.online = True
    with opened(server, tmp_path / "lab.db") as lab:
        lab.sync()
        assert [row["was"] for row in lab.history()] == [[84.0], None, None]
    assert json.loads(server.bodies[0])["tally"][trials[0].arm][:2] == [1, 0.84]
    assert len(server.bodies) == 1


def test_one_that_may_have_arrived_is_sent_as_it_was_and_corrected(tmp_path: Path) -> None:
    server = RealServer(MEASURED, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=3)
    trials = lab.ask(3)
    lab.tell(trials[1], 0.5)
    lab.tell(trials[2], 0.25)
    server.answers_get_lost = True
    lab.tell(trials[0], 84, sure=True)
    assert lab.correct(trials[0], 0.84, "decimal point")
    assert lab.status()["corrections"] == 1
    server.answers_get_lost = False
    lab.sync()
    assert lab.status()["corrections"] == 0
    bodies = [json.loads(body) for body in server.bodies]
    assert all(body == bodies[0] for body in bodies)
    corrected = [row for row in entries(server) if row["kind"] == "corrected"]
    assert [row["reason"] for row in corrected] == ["decimal point"]
    assert corrected[0]["tally"][trials[0].arm][1] == 0.84
    assert corrected[0]["id"] == "lab-a/1/fix/1"


@pytest.mark.parametrize("problem", [MEASURED, BETS, ITEMS, YES_NO], ids=["squares", "bets", "items", "yes-no"])
def test_afterwards_the_batch_is_added_up_anew(tmp_path: Path, problem: Problem) -> None:
    """What a correction says is what an upload without the mistake would have said, bit for bit."""
    server, random = RealServer(problem, name="sharp"), Random(2)
    with opened(server, tmp_path / "lab.db", plate=12) as lab:
        for _ in range(2):
            trials, rewards = lab.ask(12), []
            for trial in trials:
                rewards.append(float(random.random() < 0.5) if problem is YES_NO else random.random())
                lab.tell(trial, rewards[-1], sure=True)
        (made,) = {json.loads(body)["sequence"]: json.loads(body) for body in server.bodies}.keys() & {2}
        tally = json.loads(server.bodies[1])["tally"]
        told, plan = lab.journal.of_batch(made)
        assert plan is not None
        assert tally_of(plan, told, lab.terms).to_json(lab.terms.arms) == tally
        wrong = trials[3]
        lab.correct(wrong, 1.0 - rewards[3], "swapped", sure=True)
        assert lab.status()["corrections"] == 0
        (row,) = (row for row in entries(server) if row["kind"] == "corrected")
        assert row["tally"] != tally
        assert row["tally"][wrong.arm][0] == tally[wrong.arm][0]
        lab.correct(wrong, rewards[3], "it was right after all", sure=True)
        last = [row for row in entries(server) if row["kind"] == "corrected"][-1]
        assert last["tally"] == tally
        assert (last["sequence"], last["id"]) == (2, "lab-a/2/fix/2")
    assert server.admin.call("GET", "/v1/studies/ligands/status")["samples"] == 24


def test_a_mistake_that_decided_is_said_so_and_the_verdict_stays(tmp_path: Path) -> None:
    server = RealServer(Problem(["A", "B"], name="ligands", sigma=0.3, sites="alike"), name="sharp")
    with opened(server, tmp_path / "lab.db", plate=4) as lab:
        trials = lab.ask(4)
        good = next(trial for trial in trials if trial.arm == "B")
        for trial in trials:
            lab.tell(trial, 84 if trial is good else 0.5, sure=True)
        assert lab.verdict is not None
        assert lab.verdict.arm == "B"
        assert lab.correct(good, 0.84, "decimal point")
        assert lab.verdict.arm == "B"
        assert "now" in lab.notice
        (row,) = (row for row in lab.history() if row["was"])
        assert (row["was"], row["reward"], row["reason"]) == ([84.0], 0.84, "decimal point")
        assert row["answer"] == lab.notice


def test_offline_a_correction_waits(tmp_path: Path) -> None:
    server = RealServer(MEASURED, name="sharp")
    lab = opened(server, tmp_path / "lab.db", plate=12)
    numbers = fill(lab, Random(3))
    server.online = False
    assert lab.correct(numbers[0], 0.5, "decimal point")
    lab.close()
    lab = opened(server, tmp_path / "lab.db")
    assert [row["state"] for row in lab.history()] == ["correction unsent"] + 11 * ["sent"]
    server.online = True
    fill(lab, Random(4))  # any contact sends it, and before the next upload
    kinds = [row["kind"] for row in entries(server)]
    assert kinds.index("corrected") < len(kinds) - 1 - kinds[::-1].index("uploaded")
    assert lab.status()["corrections"] == 0
    lab.close()


def test_counts_are_corrected_by_their_name(tmp_path: Path) -> None:
    server = RealServer(YES_NO, name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        lab.tell_counts({"A": (5000, 251), "B": (5000, 203)}, "monday")
        assert lab.correct_counts("monday", {"A": (5000, 152), "B": (5000, 203)}, "digits")
        assert not lab.correct_counts("monday", {"A": (5000, 152), "B": (5000, 203)})
        assert not lab.tell_counts({"A": (5000, 152), "B": (5000, 203)}, "monday")
        (row,) = (row for row in entries(server) if row["kind"] == "corrected")
        assert row["tally"] == {"A": [5000, 152.0], "B": [5000, 203.0]}
        assert [(row["arm"], row["reward"], row["was"]) for row in lab.history()] == [
            ("A", 152, [251]),
            ("B", 203, [203]),
        ]
        with pytest.raises(UserError, match="can't come from rewards"):
            lab.correct_counts("monday", {"A": (5000, 5001), "B": (5000, 203)})
        with pytest.raises(UserError, match="no counts were told under the name 'tuesday'"):
            lab.correct_counts("tuesday", {"A": (5000, 152), "B": (5000, 203)})


def test_a_server_that_never_takes_it_does_not_stop_the_work(tmp_path: Path) -> None:
    class Stubborn(FakeServer):
        """Takes no corrections, for good or for now."""

        status = 422

        def _answer(self, request: httpx.Request, body: bytes) -> tuple[int, dict[str, Any]]:
            if request.url.path.endswith("/corrections"):
                return self.status, {"error": "no.", "code": "refused"}
            return super()._answer(request, body)

    server = Stubborn(MEASURED, name="sharp")
    with opened(server, tmp_path / "lab.db", plate=3) as lab:
        fill(lab, Random(5), 3)
        lab.correct(1, 0.4, sure=True)
        assert lab.notice == "the server refused the correction: no."
        assert lab.status()["corrections"] == 0
        assert lab.history()[0]["answer"] == lab.notice
        Stubborn.status = 403
        lab.correct(2, 0.4, sure=True)
        assert "a correction waits" in lab.notice
        assert lab.status()["corrections"] == 1
        fill(lab, Random(6), 12)
        lab.leave()
        assert len(server.bodies) >= 2


def test_several_measurements_count_once(tmp_path: Path) -> None:
    server = FakeServer(MEASURED, name="sharp")
    with opened(server, tmp_path / "lab.db", plate=3) as lab:
        first, second, third = lab.ask(3)
        assert lab.tell(first, [0.75, 0.5, 0.25])
        assert not lab.tell(first, (0.75, 0.5, 0.25))
        lab.tell(second, 0.5)
        lab.correct(first, [0.75, 0.25])
        lab.tell(third, 0.5)
        row = lab.history()[0]
        assert (row["reward"], row["measurements"], row["was"]) == (0.5, [0.75, 0.25], [[0.75, 0.5, 0.25]])
        assert lab.history().to_pandas().shape == (3, 14)
    assert json.loads(server.bodies[0])["tally"][first.arm][:2] == [1, 0.5]


@pytest.mark.parametrize(
    ("trial", "reward", "words"),
    [
        (1, "0.84", "must be a finite number"),
        (1, [], "an empty list"),
        (1, [0.5, float("nan")], "must be a finite number"),
        (1, True, "must be a finite number"),
        (1, 1e200, "must be a number from"),
        (2, 0.84, "trial 2 was not told yet; tell it"),
        (3, 0.84, "trial 3 is not open any more"),
        (99, 0.84, "trial 99 was never handed out"),
        (0, 0.84, "trial 0 was never handed out"),
        ("one", 0.84, "is not a trial"),
        (1, 840.0, "it was not taken"),
    ],
)
def test_what_can_not_be_corrected(tmp_path: Path, trial: Any, reward: Any, words: str) -> None:
    with opened(FakeServer(MEASURED, name="sharp"), tmp_path / "lab.db", plate=12) as lab:
        lab.ask(5)
        for number in (1, 4, 5):
            lab.tell(number, 0.5 + number / 100)
        lab.give_back(3)
        before = lab.history()
        with pytest.raises(UserError, match=words):
            lab.correct(trial, reward)
        for reason in ("x" * 501, "two\nlines", 7):
            with pytest.raises(UserError, match="reason is not a line of text"):
                lab.correct(1, 0.6, reason)  # type: ignore[arg-type]
        assert lab.history() == before


def test_yes_and_no_are_not_averaged(tmp_path: Path) -> None:
    with opened(FakeServer(YES_NO, name="sharp"), tmp_path / "lab.db") as lab:
        (trial,) = lab.ask()
        with pytest.raises(UserError, match="measurements of one trial must agree"):
            lab.tell(trial, [0, 1, 1])
        assert lab.tell(trial, [1, 1, 1])


def live(path: Path, server: FakeServer, fuse: Fuse) -> None:
    """One process: a batch with a mistake, its correction, another batch and a correction of the first."""
    journal = Journal(path, patience=0.0)
    journal._database.execute("PRAGMA synchronous = OFF")
    journal._database = Statements(journal._database, fuse)  # type: ignore[assignment]
    try:
        lab = open_lab(path, Wire(server, fuse), journal=journal, plate=3)
        if lab.agent.next_number == 1 or lab.open or not lab.history():
            for trial in [*lab.open, *lab.ask(3 - len(lab.history()) - len(lab.open) or 1)][:3]:
                if lab.journal.find(trial.number) is None:
                    lab.tell(trial, 84.0 if trial.number == 1 else 0.5, sure=True)
        told = lab.journal.find(1)
        if told is not None and told.reward == 84.0:
            lab.correct(1, 42.0, sure=True)
        if told is not None:
            lab.correct(1, 0.84, sure=True)
        lab.sync()
    finally:
        journal.close()


def total(server: FakeServer) -> tuple[int, float]:
    tally = server.server.total
    return tally.samples, round(sum(tally.sums), 9)


def test_a_kill_at_any_point_of_a_correction(tmp_path: Path) -> None:
    """However often it dies, the server has every reward once, and the corrected one as it is right."""
    fuse, server = Fuse(None), FakeServer(MEASURED, name="sharp")
    live(tmp_path / "all.db", server, fuse)
    assert total(server) == (3, 1.84)
    for kill in range(fuse.points):
        server, path = FakeServer(MEASURED, name="sharp"), tmp_path / f"{kill}.db"
        with pytest.raises(Killed):
            live(path, server, Fuse(kill))
        for _ in range(2):
            live(path, server, Fuse(None))
        assert total(server) == (3, 1.84), kill
        assert len(server.server.log) == 1
