"""A site in the shell: what the commands print, and their exit codes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fake_server import open_lab
from real_server import RealServer

from bestarm import Problem
from bestarm.cli.lab import at_site
from bestarm.cli.main import run
from bestarm.client.connect import connect
from bestarm.client.server.connection import Connection

Shell = Callable[..., tuple[int, str, str]]
BOUNDED = Problem(["A", "B", "C"], name="ligands", reward_range=(-1.0, 1.0), delta=0.05, epsilon=0.0)


@pytest.fixture
def server() -> RealServer:
    return RealServer(BOUNDED, parameters={"min_batch": 4})


@pytest.fixture
def shell(
    server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(at_site, "connect", partial(connect, transport=server))
    for key in ("URL", "TOKEN", "STUDY", "JOURNAL"):
        monkeypatch.delenv(f"BESTARM_{key}", raising=False)
    Path("bestarm.toml").write_text('url = "http://fake"\ntoken = "token-of-lab-a"\n')

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bestarm", *words])
        try:
            run()
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def read(shell: Shell, *words: str) -> Any:
    code, out, err = shell(*words, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_ask_twice_hands_out_other_trials_and_status_lists_the_open_ones(
    shell: Shell, server: RealServer
) -> None:
    first, second = read(shell, "ask", "-n", "8"), read(shell, "ask", "-n", "4")
    assert [row["trial"] for row in first] == list(range(1, 9))
    assert [row["trial"] for row in second] == list(range(9, 13))
    assert Counter(row["arm"] for row in first + second) == {"A": 4, "B": 4, "C": 4}
    assert read(shell, "status")["open"] == first + second
    assert read(shell, "ask", "--again") == first + second
    server.online = False
    code, out, err = shell("ask")
    assert (code, out) == (1, "")
    assert err.startswith(
        "bestarm: no trials now: all trials of the plan are under way; tell or give back trial 1, "
    )
    assert Path("bestarm-journal.db").exists()


def test_tables_for_people(shell: Shell) -> None:
    first, second = (row["arm"] for row in read(shell, "ask", "-n", "2"))
    shown = shell("ask", "--again")[1].split()
    aim = ["Higher", "is", "better."]
    assert shown == [*aim, "trial", "arm", "─" * 11, "1", first, "2", second]
    assert (
        shell("tell", "1", "0,5")[1]
        == "1 reward told. The plan has 12 trials: 1 told, 1 open, 10 to be handed out.\n"
    )
    assert "Study ligands, agent lab-a: 0 uploads so far." in shell("status")[1]
    assert shell("give-back", "2")[1].startswith("Trial 2 is given back.")
    assert shell("ask", "--again")[2] == "bestarm: no trial is open.\n"
    assert shell("leave")[1] == "What there was is sent.\n"
    assert shell("leave")[1] == "There was nothing to send.\n"
    assert shell("sync")[1] == "The plan has 8 trials: 0 told, 0 open, 8 to be handed out.\n"
    assert f"All sites, 1 upload: {first} leads after 1 sample, with " in shell("status")[1]


def test_tell_takes_negative_rewards_and_says_what_it_refuses(shell: Shell, server: RealServer) -> None:
    read(shell, "ask", "-n", "2")
    assert read(shell, "tell", "1", "-0.5")["told"] == 1
    assert read(shell, "tell", "1", "-0.5")["known"] == 1
    for words, sentence in {
        ("1", "0.5"): "trial 1 was told -0.5 and now 0.5",
        ("2", "1.5"): "reward is 1.5; it must be a number from -1.0 to 1.0",
        ("2", "nan"): "reward is 'nan'; it must be a number",
        ("99", "0.5"): "trial 99 was never handed out",
        ("A", "0.5"): "trial is 'A'",
        ("2",): "tell takes a trial and its reward",
        ("2", "0.5", "--worksheet", "x.csv"): "tell takes a trial and its reward",
        ("--worksheet", "x.csv"): "No such file",
    }.items():
        code, out, err = shell("tell", *words)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1
    assert read(shell, "status")["told"] == 1


def test_a_worksheet_goes_out_and_comes_back(shell: Shell, server: RealServer) -> None:
    code, out, err = shell("ask", "-n", "12", "--worksheet", "plate7.csv")
    assert (code, out) == (0, "")
    assert "12 trials in plate7.csv" in err
    sheet = Path("plate7.csv")
    assert shell("ask", "--worksheet", "plate7.csv")[0] == 2
    head, *lines = sheet.read_text().splitlines()
    half = [line.replace(",,", f",0.{k},") if k < 6 else line for k, line in enumerate(lines)]
    half[3] = half[3].replace("0.3", "o.3")
    arm = half[4].split(",")[1]
    other = "C" if arm == "B" else "B"
    half[4] = half[4].replace(f"5,{arm}", f"5,{other}")
    sheet.write_text("\n".join([head, *half]))
    code, out, err = shell("tell", "--worksheet", "plate7.csv")
    assert code == 1
    assert out.startswith("4 rewards told. ")
    assert err.splitlines() == [
        "bestarm: plate7.csv, line 5: reward is 'o.3'; it must be a number such as 0.73.",
        f"bestarm: plate7.csv, line 6: trial 5 is for arm '{arm}', not for '{other}'.",
    ]
    full = "\ufeff" + "\r\n".join([head, *(line.replace(",,", ",0.5,") for line in lines)]).replace(",", ";")
    sheet.write_bytes(full.replace("0.5", "0,5").encode())
    code, out, err = shell("tell", "--worksheet", "plate7.csv", "--format", "json")
    assert code == 1
    assert (json.loads(out)["told"], json.loads(out)["known"]) == (8, 1)
    assert [row["line"] for row in json.loads(out)["refused"]] == [2, 3, 4]
    assert "line 2: trial 1 was told 0.0 and now 0.5; if that was a mistake, correct it." in err
    assert server.server.total.samples == 12
    good = [head, *(line.replace(",,", f",0.{k},") for k, line in enumerate(lines[:3]))]
    sheet.write_text("\n".join(good))
    for _ in range(2):
        again = read(shell, "tell", "--worksheet", "plate7.csv")
        assert (again["told"], again["known"], again["refused"]) == (0, 3, [])
    assert server.server.total.samples == 12


def test_offline_is_normal(shell: Shell, server: RealServer) -> None:
    server.online = False
    code, out, err = shell("ask")
    assert (code, out) == (1, "")
    assert "can't be reached" in err
    server.online = True
    read(shell, "sync")
    server.online = False
    trials = read(shell, "ask", "-n", "12")
    for trial in trials:
        code, out, _ = shell("tell", str(trial["trial"]), "0.5")
        assert code == 0
    assert "An upload is kept until it can be sent: the server at http://fake can't be reached" in out
    code, out, err = shell("status", "--format", "json")
    assert json.loads(out)["server"] is None
    assert json.loads(out)["unsent"] == 1
    assert "can't be reached" in err
    assert shell("sync")[0] == 1
    assert shell("ask")[0] == 1
    server.online = True
    assert len(read(shell, "ask", "-n", "4")) == 4


@pytest.mark.slow
def test_a_finished_study_says_its_verdict(shell: Shell, server: RealServer) -> None:
    while not server.server.stopped:
        for trial in read(shell, "ask", "-n", "12"):
            reward = 0.9 if trial["arm"] == "A" else -0.9
            code, out, _ = shell("tell", str(trial["trial"]), str(reward))
    assert code == 0
    assert "The study is finished: A is best, after" in out
    code, out, err = shell("ask", "--format", "json")
    assert (code, out) == (0, "[]\n")
    assert err.startswith("bestarm: The study is finished: A is best, after")
    assert read(shell, "status")["verdict"]["arm"] == "A"


def test_settings_that_are_missing_or_wrong(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bestarm.toml").unlink()
    assert shell("ask")[2] == (
        "bestarm: url is not known; give --url, set BESTARM_URL, or write it in bestarm.toml.\n"
    )
    monkeypatch.setenv("BESTARM_URL", "http://fake")
    monkeypatch.setenv("BESTARM_TOKEN", "token-of-nobody")
    code, _, err = shell("ask")
    assert code == 2
    assert err.startswith("bestarm: this token is unknown")
    assert len(read(shell, "ask", "--token", "token-of-lab-b", "--journal", "b.db")) == 1
    assert Path("b.db").exists()
    code, _, err = shell("ask", "--token", "token-of-lab-b", "--journal", "b.db", "--study", "solvents")
    assert code == 2
    assert "belongs to study 'ligands', not 'solvents'" in err


def test_no_trial_is_handed_out_once_the_study_is_finished(
    shell: Shell, server: RealServer, tmp_path: Path
) -> None:
    assert len(read(shell, "ask", "-n", "2")) == 2
    other = open_lab(tmp_path / "lab-b.db", server, "lab-b")
    while not other.finished:
        for trial in other.ask(8):
            other.tell(trial, {"A": 0.9, "B": -0.5, "C": -0.9}[trial.arm])
    told = shell("status")[1]
    assert "The plan has 12 trials: 0 told, 2 open, 10 to be handed out." in told
    assert "A is the answer, after " in told
    assert "Nothing more has to be measured" in told
    code, out, err = shell("ask", "-n", "2")
    assert (code, out) == (0, "")
    assert err.startswith("bestarm: The study is finished: A is best")
    assert "Nothing more" not in shell("status")[1]  # now the site knows by itself


def test_the_plan_lasts_without_a_server_and_with_a_revoked_token(shell: Shell, server: RealServer) -> None:
    read(shell, "ask")
    code, out, err = shell("ask", "--token", "token-of-nobody")
    assert (code, out.split()[-2]) == (0, "2")
    assert "this token is unknown, expired or revoked" in err
    server.online = False
    code, out, err = shell("ask")
    assert (code, err, out.split()[-2]) == (0, "", "3")


def test_another_ones_token_gets_no_trials(shell: Shell, server: RealServer) -> None:
    read(shell, "ask")
    server.tokens["admin"] = str(server.admin.call("POST", "/v1/tokens", {})["token"])
    code, out, err = shell("ask", "--token", "token-of-admin")
    assert (code, out) == (2, "")
    assert "token" in err
    assert [row["trial"] for row in read(shell, "ask", "--again")] == [1]


def test_status_says_once_that_nothing_was_measured(shell: Shell) -> None:
    read(shell, "ask")
    assert shell("status")[1].count("Nothing was measured yet.") == 1


def test_a_worksheet_says_when_it_is_short_or_empty_and_tell_when_the_plan_is_sent(
    shell: Shell, server: RealServer
) -> None:
    shell("sync")
    server.online = False
    err = shell("ask", "-n", "24", "--worksheet", "plate.csv")[2]
    assert err.startswith("bestarm: 12 trials in plate.csv; fill in the rewards, then ")
    assert "bestarm: 12 of 24, all that the plan still has: the server at http://fake can't be reached" in err
    server.online = True
    assert shell("tell", "--worksheet", "plate.csv")[1].startswith("plate.csv has no rewards yet. The plan has")
    header, *lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([header, *(line.replace(",,", ",0.5,", 1) for line in lines)]))
    told = shell("tell", "--worksheet", "plate.csv")[1]
    assert told.startswith("12 rewards told. That filled the plan, and it is sent. The next one has ")


def test_a_full_batch_is_not_called_the_plan_while_another_is_in_hand(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RealServer(Problem(["A", "B"], name="ligands", sigma=0.3, sites="differ"), name="sharp")
    monkeypatch.setattr(at_site, "connect", partial(connect, transport=server))
    trials = read(shell, "ask", "--plate", "4", "-n", "8")
    assert len(trials) == 8
    told = [shell("tell", str(row["trial"]), f"0.5{row['trial']}", "--yes")[1] for row in trials]
    first, last = [said for said in told if "is sent" in said]
    assert "That filled a batch, and it is sent. With what is still in hand the plan has 8 trials" in first
    assert "That filled the plan, and it is sent. The next one has " in last


def test_whoever_makes_a_worksheet_is_told_what_can_be_said_now(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(["A", "B", "C"], name="ligands", sigma=0.3, sites="differ")
    server = RealServer(problem, name="sharp")
    monkeypatch.setattr(at_site, "connect", partial(connect, transport=server))
    err = shell("ask", "-n", "24", "--worksheet", "plate.csv")[2]
    assert err.splitlines()[-1] == "bestarm: Nothing was measured yet."
    status = shell("status")[1]
    assert "The test rule-out compares arms inside batches; it assumes that " in status


def test_the_worksheet_of_another_site_is_refused(shell: Shell, server: RealServer) -> None:
    """Both sites have trials 1 to 12 of the same arms: the measurements would count twice."""
    shell("ask", "-n", "12", "--worksheet", "a.csv")
    Path("a.csv").write_text(Path("a.csv").read_text().replace(",,", ",0.5,"))
    other = ["--token", "token-of-lab-b", "--journal", "b.db"]
    shell("ask", "-n", "12", *other)
    code, out, err = shell("tell", "--worksheet", "a.csv", *other)
    assert (code, out.split(".")[0]) == (1, "0 rewards told")
    assert "a.csv, line 2: it is a trial of ligands/lab-a, and this is ligands/lab-b." in err
    assert "12 rewards told" in shell("tell", "--worksheet", "a.csv")[1]
    assert server.server.total.samples == 12


@pytest.mark.parametrize("trial", ["99999999999999999999999999", "1" * 5000, "-1", "0"])
def test_numbers_that_are_no_trial(shell: Shell, trial: str) -> None:
    shell("ask")
    code, _, err = shell("tell", trial, "0.5")
    assert code == 2
    assert err.count("\n") == 1


def test_a_plan_of_billions_needs_no_memory(tmp_path: Path) -> None:
    """The total may hold more than a lab will ever measure; its next plan is then as large."""
    server = RealServer(Problem(["A", "B"], name="ligands", sigma=0.3))
    upload = {
        "problem": server.problem.fingerprint,
        "agent": "big",
        "sequence": 1,
        "tally": {"A": [10**11, 0.0], "B": [10**11, 0.0]},
    }
    with Connection("http://fake", "token-of-big", transport=server) as connection:
        connection.call("POST", "/v1/studies/ligands/uploads", upload)
    lab = open_lab(tmp_path / "lab.db", server)
    assert lab.agent.plan.size > 10**8
    assert len(lab.ask(3)) == 3
    assert open_lab(tmp_path / "lab-b.db", server, "lab-b").agent.to_hand_out > 10**8


def test_counts_from_a_file_count_once(shell: Shell) -> None:
    Path("day.csv").write_text("arm,pulls,sum\nA,40,30\nB,40,10.5\nC,40,-2\n")
    code, out, err = shell("tell", "--counts", "day.csv")
    assert code == 0, err
    assert "3 arms counted." in out
    code, out, _ = shell("tell", "--counts", "day.csv")
    assert code == 0
    assert "was told before, and counts once" in out
    assert read(shell, "status")["uploads"] == 1
    assert shell("tell", "--counts", "missing.csv")[0] == 2
    assert shell("tell", "1", "0.5", "--counts", "day.csv")[0] == 2
