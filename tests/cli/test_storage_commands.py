"""Every command without a server: BESTARM_URL is a storage, and BESTARM_AGENT says which site this is."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Call

import bestarm


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    for key in ("TOKEN", "STUDY", "JOURNAL"):
        monkeypatch.delenv(f"BESTARM_{key}", raising=False)
    monkeypatch.setenv("BESTARM_URL", "sqlite:///ligands.db")
    monkeypatch.setenv("BESTARM_AGENT", "anna")
    return Call(monkeypatch, capsys)


@pytest.fixture
def study(call: Call) -> Call:
    code, out, _ = call("study", "create", "--name", "ligands", "--arms", "A,B,C", "--sigma", "0.3")
    assert code == 0
    assert "Next: bestarm ask --study ligands --agent SITE" in out
    return call


def read(call: Call, *words: str) -> Any:
    code, out, err = call(*words, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_a_site_from_ask_to_leave(study: Call) -> None:
    trials = read(study, "ask", "-n", "4")
    first, second, *_ = [str(trial["trial"]) for trial in trials]
    assert read(study, "tell", first, "0.5")["told"] == 1
    assert read(study, "tell", first, "0.5")["known"] == 1
    assert study("tell", first, "0.6")[0] == 2
    assert study("correct", first, "0.6", "--reason", "a slip")[0] == 0
    assert [row["reward"] for row in read(study, "history")] == [0.6]
    assert study("give-back", second)[0] == 0
    assert study("cannot", "C", "--reason", "used up")[0] == 0
    assert "This site can't do C (used up)." in study("status")[1]
    assert read(study, "status")["server"]["study"] == "ligands"
    assert study("sync")[0] == 0
    assert study("leave")[1].startswith("What there was is sent.")
    assert read(study, "study", "show", "ligands")["samples"] == 1
    assert Path("ligands.journals/ligands/anna.db").exists()


def test_an_arm_is_withdrawn_with_a_reason_or_without(study: Call) -> None:
    assert read(study, "study", "arm", "withdraw", "ligands", "C")["sentence"] == "C was withdrawn."
    with bestarm.open_study("sqlite:///ligands.db", "ligands") as found:
        found.add_arm("D")
        assert found.withdraw_arm("D") == "D was withdrawn."


def test_a_study_that_ends_before_it_begins_says_so_once(call: Call) -> None:
    create = ("study", "create", "--name", "late", "--arms", "A,B", "--deadline", "2020-01-31")
    code, out, _ = call(*create)
    assert code == 0
    assert "Its deadline, 2020-01-31, is past already: it ends before it begins." in " ".join(out.split())
    assert call("ask")[2].count("Nothing was measured yet.") == 1


def test_two_sites_in_one_folder(study: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = read(study, "ask", "-n", "2")
    theirs = read(study, "ask", "-n", "2", "--agent", "ben")
    assert [trial["trial"] for trial in mine] == [trial["trial"] for trial in theirs] == [1, 2]
    monkeypatch.delenv("BESTARM_AGENT")
    Path("bestarm.toml").write_text('agent = "ben"\n')
    assert [trial["trial"] for trial in read(study, "ask")] == [3]
    assert {site["agent"] for site in read(study, "study", "show", "ligands")["sites"]} == {"anna", "ben"}


def test_a_coordinator(study: Call) -> None:
    for trial in read(study, "ask", "-n", "6"):
        study("tell", str(trial["trial"]), "0.5")
    study("leave")
    assert [row["study"] for row in read(study, "study", "list")["studies"]] == ["ligands"]
    assert study("study", "arm", "withdraw", "ligands", "C", "--reason", "not sold")[0] == 0
    assert study("study", "arm", "add", "ligands", "D")[0] == 0
    Path("right.csv").write_text("arm,pulls,sum\nA,2,1.2\nB,2,1.0\nC,2,1.0\n")
    code, _, err = study("study", "correct", "ligands", "anna", "1", "--counts", "right.csv")
    assert code == 0, err
    assert study("study", "close", "ligands", "--reason", "holiday")[0] == 0
    code, _, err = study("ask")
    assert (code, "closed (holiday)" in err) == (0, True)
    assert study("study", "reopen", "ligands")[0] == 0
    assert study("ask")[0] == 0
    done = {line["by"] for line in read(study, "study", "log", "ligands")["entries"]}
    assert done == {None, "admin anna"}
    assert study("study", "rename", "ligands", "phosphines")[0] == 0
    assert study("study", "archive", "phosphines")[0] == 0
    assert study("study", "unarchive", "phosphines")[0] == 0
    assert study("history")[0] == 0  # a journal is found by each name that its study had
    assert study("history", "--study", "ligands")[0] == 0
    assert study("study", "export", "phosphines", "--out", "log.json")[0] == 0
    assert "log.json holds" in study("study", "verify", "log.json")[1]
    assert study("study", "report", "phosphines", "--out", "report.html")[0] == 0
    assert Path("report.html").exists()


def test_the_shell_and_python_share_a_study(study: Call) -> None:
    with bestarm.open_study("sqlite:///ligands.db", agent="ben") as opened:
        for trial in opened.ask(6):
            opened.tell(trial, 0.5)
        opened.leave()
    assert read(study, "study", "show", "ligands")["samples"] == 6


@pytest.mark.parametrize("verb", [["create", "--study", "ligands", "--agent", "x"], ["list"], ["revoke", "x"]])
def test_there_are_no_tokens(study: Call, verb: list[str]) -> None:
    code, out, err = study("token", *verb)
    assert (code, out) == (2, "")
    assert "ligands.db is a storage, and without a server there are no tokens" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ask", "--agent", "my bench"], "agent is 'my bench'; it must be"),
        (["ask", "--study", "solvents"], "there is no study 'solvents'."),
        (
            ["ask", "--url", "sqlite:///typo.db"],
            "there is no storage 'typo.db'; `bestarm study create`",
        ),
        (["study", "list", "--url", "sqlite:///typo.db"], "there is no storage 'typo.db'"),
        (["ask", "--url", "sqlite://"], "sqlite:// is in memory"),
        (["ask", "--url", "mysql://host/db"], "url is 'mysql://host/db'; it must look like"),
        (["study", "create", "--name", "ligands", "--arms", "A,B"], "there is a study 'ligands' already"),
    ],
)
def test_what_a_person_did_wrong_is_one_sentence(study: Call, words: list[str], sentence: str) -> None:
    code, out, err = study(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not Path("typo.db").exists()


def test_a_site_must_have_a_name(study: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BESTARM_AGENT")
    code, _, err = study("ask")
    assert (code, err) == (
        2,
        "bestarm: agent is not known; give --agent, set BESTARM_AGENT, or write it in bestarm.toml.\n",
    )


def test_an_audit_and_a_log_that_was_put_back(study: Call) -> None:
    """A site asks whether the log has what it sent; the coordinator says once that some of it may be gone."""
    code, _, err = study("audit")
    assert (code, "This site has sent nothing yet." in err) == (0, True)
    for trial in read(study, "ask", "-n", "2"):
        study("tell", str(trial["trial"]), "0.5")
    study("leave")
    assert read(study, "audit") == {"holds": True, "uploads": 1, "wrong": []}
    with closing(sqlite3.connect("ligands.journals/ligands/anna.db")) as journal, journal:
        journal.execute("UPDATE receipts SET digest = 'of another log'")
    code, out, err = study("audit")
    assert (code, "its receipt is of another log" in " ".join((out + err).split())) == (1, True)
    code, out, _ = study("study", "restored", "ligands", "--reason", "the disk failed")
    assert code == 0
    assert "put back from a backup (the disk failed); sites send again what it has lost, if" in " ".join(
        out.split()
    )
    assert study("study", "restored", "nowhere")[0] == 2
