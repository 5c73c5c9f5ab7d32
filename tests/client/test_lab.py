"""A lab against a server: the contract, the network's moods, and what must be refused."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fake_server import PROBLEM, Clock, open_lab
from real_server import RealServer

import bestarm
from bestarm import Agent, Problem, Server, Trial, UserError, method
from bestarm.client.connect import connect
from bestarm.client.memory.journal import JournalError
from bestarm.client.server.patience import Patience
from bestarm.errors import Refused, ServiceError

pytestmark = pytest.mark.usefixtures("_both_ways")

MEANS = {"A": 0.9, "B": 0.3, "C": 0.1}


def reward(trial: Trial) -> float:
    """What a trial gives, whoever asks: its number is the seed."""
    return MEANS[trial.arm] + 0.3 * float(np.random.default_rng(trial.number).standard_normal())


def fill_plan(lab: bestarm.Lab) -> None:
    """Do all of the plan that is there now."""
    uploads = lab.agent.sequence
    while lab.agent.sequence == uploads:
        for trial in lab.ask(lab.agent.to_hand_out):
            lab.tell(trial, reward(trial))


def test_the_contract_gives_what_plain_objects_give(tmp_path: Path) -> None:
    server = RealServer()
    journal = tmp_path / "lab.db"
    with connect(
        "http://fake", study="ligands", token="token-of-lab-a", journal=journal, transport=server
    ) as lab:
        while not lab.finished:
            for trial in lab.ask(min(lab.agent.to_hand_out, 8)):
                lab.tell(trial, reward(trial))
        assert lab.ask(8) == []
        verdict, chance = lab.verdict, lab.journal.chance

    agent = Agent(method("famabpe", PROBLEM), "lab-a", chance)
    plain = Server(method("famabpe", PROBLEM))
    agent.receive(plain.download())
    while not agent.finished:
        for trial in agent.ask(8):
            upload = agent.tell(trial, reward(trial))
            if upload is not None:
                agent.receive(plain.receive(upload))
    assert verdict == agent.verdict
    assert verdict is not None
    assert verdict.arm == "A"
    assert server.server.log == plain.log


def test_connect_is_a_name_of_the_package() -> None:
    assert bestarm.connect is connect


def test_works_offline_for_as_long_as_the_plan_lasts(tmp_path: Path) -> None:
    server = RealServer()
    open_lab(tmp_path / "lab.db", server).close()
    server.online = False
    lab = open_lab(tmp_path / "lab.db", server)
    trials = lab.ask(8)
    assert sorted(trial.arm for trial in trials) == ["A", "B", "C"]
    for trial in trials:
        assert lab.tell(trial, reward(trial))
    assert lab.ask(8) == []
    assert "can't be reached" in lab.waiting_for
    assert lab.status()["unsent"] == 1
    with pytest.raises(ServiceError, match="can't be reached"):
        lab.sync()
    server.online = True
    assert len(lab.ask(8)) == 8
    assert lab.waiting_for == ""
    assert [upload.tally.samples for upload in server.server.log] == [3]


def test_the_first_connect_needs_the_server(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="can't be reached"):
        connect("http://fake", token="t", journal=tmp_path / "j", transport=RealServer(online=False))
    open_lab(tmp_path / "j", RealServer()).close()  # and the file is free again


def test_a_restart_goes_on_with_the_same_trials(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    first, second = lab.ask(2)
    lab.tell(second, 0.5)
    lab.close()

    lab = open_lab(tmp_path / "lab.db", server)
    assert lab.open == [first]
    (missing,) = {"A", "B", "C"} - {first.arm, second.arm}
    third = Trial(3, missing)
    server.online = False
    assert lab.ask(8) == [first, third]
    assert lab.ask(8) == []
    assert "trial 1, 3" in lab.waiting_for
    lab.close()

    lab = open_lab(tmp_path / "lab.db", server, resume=False)
    assert lab.ask(8) == []
    assert lab.open == [first, third]
    server.online = True
    for trial in lab.open:
        lab.tell(trial, 0.5)
    assert [upload.sequence for upload in server.server.log] == [1]


def test_a_trial_is_told_once(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    for trial in lab.ask(3):
        assert lab.tell(trial, 0.5)
    for _ in range(2):  # in the answered batch, and after a restart
        assert not lab.tell(2, 0.5)
        with pytest.raises(UserError, match=r"trial 2 was told 0\.5 and now 0\.6"):
            lab.tell(2, 0.6)
        with pytest.raises(UserError, match="trial 99 was never handed out"):
            lab.tell(99, 0.6)
        lab.close()
        lab = open_lab(tmp_path / "lab.db", server)
    assert server.server.total.samples == 3


def test_a_reward_that_is_none_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    problem = Problem(["A", "B"], name="ligands", reward_range=(0.0, 1.0), delta=0.05, epsilon=0.0)
    lab = open_lab(tmp_path / "lab.db", RealServer(problem))
    (trial,) = lab.ask()
    other = "B" if trial.arm == "A" else "A"
    for wrong in (1.5, float("nan"), float("inf"), True, "0.5"):
        with pytest.raises(UserError, match="reward is"):
            lab.tell(trial, wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=f"trial 1 is for arm '{trial.arm}', not for '{other}'"):
        lab.tell(Trial(1, other), 0.5)
    with pytest.raises(UserError, match="'1' is not a trial"):
        lab.tell("1", 0.5)  # type: ignore[arg-type]
    assert lab.open == [trial]
    assert lab.tell(np.int64(1), np.float64(0.5))  # type: ignore[arg-type]


def test_a_given_back_trial_is_handed_out_under_a_new_number(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    first, *others = lab.ask(3)
    lab.give_back(first)
    assert lab.ask() == [Trial(4, first.arm)]
    with pytest.raises(UserError, match="given back"):
        lab.tell(first, 0.5)
    with pytest.raises(UserError, match="told or given back already"):
        lab.give_back(first)
    for trial in [*others, Trial(4, first.arm)]:
        lab.tell(trial, 0.5)
    assert server.server.total.pulls.tolist() == [1, 1, 1]


def test_leave_sends_what_there_is(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    assert not lab.leave()
    first, second, _ = lab.ask(3)
    lab.tell(first, 0.5)
    server.online = False
    with pytest.raises(ServiceError):
        lab.leave()
    lab.close()
    server.online = True
    lab = open_lab(tmp_path / "lab.db", server)
    with pytest.raises(UserError, match="sent without it"):
        lab.tell(second, 0.5)
    assert lab.leave()
    assert server.server.total.to_json(PROBLEM.arms) == {first.arm: [1, 0.5]}
    assert {trial.arm for trial in lab.ask(2)} == {"A", "B", "C"} - {first.arm}


def test_late_data_is_recorded_and_the_verdict_stays(tmp_path: Path) -> None:
    server = RealServer(agents=2)
    slow = open_lab(tmp_path / "slow.db", server, "slow")
    first, second, _ = slow.ask(3)
    slow.tell(first, 0.5)
    with open_lab(tmp_path / "quick.db", server, "quick") as quick:
        while not quick.finished:
            fill_plan(quick)
    samples = server.server.total.samples
    slow.sync()
    assert slow.finished
    verdict = slow.verdict
    assert slow.ask(8) == []
    assert slow.tell(second, 0.5)
    slow.close()
    slow = open_lab(tmp_path / "slow.db", server, "slow")
    assert slow.leave()
    assert slow.verdict == verdict == quick.verdict
    assert server.server.total.samples == samples + 2


def test_an_upload_is_sent_with_the_same_bytes_until_it_is_answered(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    server.answers_get_lost = True
    for trial in lab.ask(3):
        lab.tell(trial, reward(trial))
    assert lab.ask(1) == []
    lab.close()
    lab = open_lab(tmp_path / "lab.db", server)
    assert lab.ask(1) == []
    server.answers_get_lost = False
    assert len(lab.ask(1)) == 1
    assert len(server.bodies) == 3
    assert len(set(server.bodies)) == 1
    assert len(server.server.log) == 1


def test_waiting_backs_off_with_chance_and_says_for_what(tmp_path: Path) -> None:
    server, clock, said = RealServer(), Clock(), []

    def waiting(reason: str, pause: float) -> None:
        said.append((reason, pause))
        server.online = len(said) == 9

    patience = Patience(waiting, clock.sleep, lambda: clock.now, lambda: 1.0)
    lab = open_lab(tmp_path / "lab.db", server, patience=patience)
    server.online = False
    for trial in lab.ask(3):
        lab.tell(trial, 0.5)
    assert len(lab.ask(1, wait=None)) == 1
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert [pause for _, pause in said] == clock.slept
    assert all("can't be reached" in reason for reason, _ in said)


def test_waiting_ends_when_the_time_is_up(tmp_path: Path) -> None:
    server, clock = RealServer(), Clock()
    patience = Patience(None, clock.sleep, lambda: clock.now, lambda: 0.0)
    lab = open_lab(tmp_path / "lab.db", server, patience=patience)
    trials = lab.ask(3)
    server.online = False
    assert lab.ask(1, wait=10.0) == []
    assert "trial 1, 2, 3" in lab.waiting_for
    assert clock.now == pytest.approx(10.0)
    for trial in trials:
        lab.tell(trial, 0.5)
    with pytest.raises(ServiceError):
        lab.sync(wait=5.0)
    assert clock.now == pytest.approx(15.0)


def test_a_refusal_is_no_reason_to_try_again_and_the_reward_is_kept(tmp_path: Path) -> None:
    server = RealServer()
    open_lab(tmp_path / "lab.db", server).close()
    lab = open_lab(tmp_path / "lab.db", server, "nobody")
    for trial in lab.ask(3):
        assert lab.tell(trial, 0.5)
    assert lab.waiting_for.startswith("this token is unknown")
    with pytest.raises(Refused, match="this token is unknown"):
        lab.ask(1, wait=None)
    lab.close()
    assert len(open_lab(tmp_path / "lab.db", server).ask(1)) == 1
    assert server.server.total.samples == 3


@pytest.mark.parametrize("uploads", [1, 2])
def test_a_journal_that_is_an_old_copy_is_an_error(tmp_path: Path, uploads: int) -> None:
    server = RealServer()
    open_lab(tmp_path / "lab.db", server).close()
    shutil.copy(tmp_path / "lab.db", tmp_path / "old.db")
    with open_lab(tmp_path / "lab.db", server) as lab:
        for _ in range(uploads):
            fill_plan(lab)
    with open_lab(tmp_path / "old.db", server) as old:
        for trial in old.ask(3):
            old.tell(trial, reward(trial))  # the very same rewards: the server could not tell the difference
        with pytest.raises(UserError, match=f"the server has {uploads} uploads? .* it is an old copy"):
            old.sync()
    assert len(server.server.log) == uploads


def test_two_journals_that_start_together_are_a_conflict(tmp_path: Path) -> None:
    """Equal rewards, told to two journals of one agent, would pass for one upload that was sent twice."""
    server = RealServer()
    first = open_lab(tmp_path / "a.db", server)
    with pytest.raises(Refused, match="has joined with another journal"):
        open_lab(tmp_path / "b.db", server)
    fill_plan(first)
    assert open_lab(tmp_path / "c.db", server, "lab-c").joined


def test_a_second_journal_for_an_agent_is_an_error(tmp_path: Path) -> None:
    server = RealServer()
    with open_lab(tmp_path / "lab.db", server) as lab:
        fill_plan(lab)
    with pytest.raises(Refused, match=r"new\.db: agent 'lab-a' has joined with another journal"):
        open_lab(tmp_path / "new.db", server)
    with open_lab(tmp_path / "other.db", server, "lab-b") as lab:
        fill_plan(lab)
    assert len(server.server.log) == 2


def test_a_server_that_lost_uploads_is_an_error(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", RealServer()) as lab:
        fill_plan(lab)
    with open_lab(tmp_path / "lab.db", RealServer()) as lab, pytest.raises(UserError, match="has lost some"):
        lab.sync()


def test_a_journal_is_for_one_study_agent_and_problem(tmp_path: Path) -> None:
    server = RealServer()
    open_lab(tmp_path / "lab.db", server).close()
    with pytest.raises(UserError, match="belongs to study 'ligands', not 'solvents'"):
        connect("http://fake", study="solvents", token="t", journal=tmp_path / "lab.db", transport=server)
    lab = open_lab(tmp_path / "lab.db", server, "lab-b")
    with pytest.raises(UserError, match="belongs to agent 'lab-a', and this is 'lab-b'"):
        lab.sync()
    lab.close()
    sigma = Problem(["A", "B", "C"], name="ligands", sigma=0.4, delta=0.05, epsilon=0.0)
    with (
        open_lab(tmp_path / "lab.db", RealServer(sigma)) as lab,
        pytest.raises(UserError, match="about another problem; a new study needs a new journal"),
    ):
        lab.sync()


def test_the_study_may_be_left_out(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", RealServer(study="only-one"), study=None) as lab:
        assert lab.status()["study"] == "only-one"
    with open_lab(tmp_path / "lab.db", RealServer(online=False), study=None) as lab:
        assert len(lab.ask(3)) == 3


def test_a_plan_is_followed_as_it_was_written_down(tmp_path: Path) -> None:
    lab = open_lab(tmp_path / "lab.db", RealServer())
    database = lab.journal._database
    (body,) = database.execute("SELECT body FROM batch").fetchone()
    plan = {"arms": [2, 0], "counts": [2, 1]}  # as another version could have planned
    database.execute("UPDATE batch SET body = ?", [json.dumps(json.loads(body) | {"plan": plan})])
    lab.close()
    lab = open_lab(tmp_path / "lab.db", RealServer())
    assert sorted(trial.arm for trial in lab.ask(3)) == ["A", "C", "C"]


def test_several_threads_may_share_a_lab(tmp_path: Path) -> None:
    server = RealServer(name="sharp", parameters={"min_batch": 20})
    lab = open_lab(tmp_path / "lab.db", server)
    with ThreadPoolExecutor(8) as pool:
        while not lab.finished:
            trials = lab.ask(40)
            assert all(pool.map(lambda trial: lab.tell(trial, reward(trial)), trials))
    assert lab.verdict is not None
    assert lab.verdict.arm == "A"


def test_a_full_disk_is_said_and_changes_nothing(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    lab.tell(lab.ask()[0], 0.5)
    lab.journal._database.execute("PRAGMA max_page_count = 1")  # that is: no page more than there are

    def work() -> None:
        for _ in range(10_000):
            lab.give_back(lab.ask()[0])

    with pytest.raises(JournalError, match="can't be written: database or disk is full"):
        work()
    status = lab.status() | {"waiting_for": ""}
    lab.close()
    assert open_lab(tmp_path / "lab.db", server).status() == status
    assert status["told"] == 1


def test_n_is_a_number_of_trials(tmp_path: Path) -> None:
    lab = open_lab(tmp_path / "lab.db", RealServer())
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(UserError, match="n is"):
            lab.ask(wrong)  # type: ignore[arg-type]


def test_a_notebook_shows_the_study_with_a_picture(tmp_path: Path) -> None:
    server = RealServer()
    lab = open_lab(tmp_path / "lab.db", server)
    start = lab.study()._repr_html_()
    assert "Nothing was measured yet." in start
    assert "<circle" not in start
    for _ in range(3):
        fill_plan(lab)
    study = lab.study()
    page = study._repr_html_()
    assert page.count("<circle") == 3
    assert page.count("<line") == 3
    assert "of the evidence" in page
    for arm in study["arms"]:
        assert f"<th>{arm['arm']}</th><td>{arm['pulls']}</td><td>{arm['mean']:.4g}</td>" in page
    assert study == json.loads(json.dumps(study))
    while not lab.finished:
        fill_plan(lab)
    assert "A is the answer, after " in lab.study()._repr_html_()


def test_a_notebook_shows_the_odds_against_each_arm(tmp_path: Path) -> None:
    problem = Problem(["A", "B", "C"], name="ligands", sigma=0.3, sites="differ")
    lab = open_lab(tmp_path / "lab.db", RealServer(problem, name="sharp"))
    for _ in range(2):
        fill_plan(lab)
    page = lab.study()._repr_html_()
    assert f"<p>{lab.standing['sentence']}</p>" in page
    assert "20 to 1 rules out</text>" in page
    for arm in lab.standing["arms"]:
        assert f">{arm['words']}</text>" in page


def test_a_notebook_shows_a_verdict_and_no_markup_from_names() -> None:
    verdict = method("famabpe", Problem(["<i>", "B"], sigma=0.3)).verdict(bestarm.Tally.of([9, 1], [9.0, 0.0]))
    page = verdict._repr_html_()
    assert "&lt;i&gt; leads after 10 samples, with " in page
    assert "B could still be better by up to " in page
    assert f'aria-label="{verdict.progress}"' in page
    assert "<i>" not in page
