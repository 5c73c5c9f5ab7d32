"""A study without a server, as somebody with a notebook has it: in memory, in a file, as several sites."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

import bestarm
from bestarm import Problem, UserError
from bestarm.client.doubt import Doubtful
from bestarm.errors import Refused
from bestarm.service.view.exports.export_file import ExportFile
from bestarm.service.view.exports.verify import replay

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.9, "B": 0.5, "C": 0.4}


def measure(trial: bestarm.Trial) -> float:
    return Random(trial.number).gauss(MEANS[trial.arm], 0.1)


def finish(study: bestarm.Study) -> None:
    while not study.finished:
        for trial in study.ask(8):
            study.tell(trial, measure(trial))


def test_five_lines_in_memory_leave_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with bestarm.create_study(ARMS) as study:
        assert study.verdict is None
        finish(study)
        verdict = study.verdict
        assert verdict is not None
        assert verdict.arm == "A"
        assert study.ask(8) == []
        assert len(study.history()) == verdict.samples == study.status()["samples"]
        assert study.standing["leader"] == "A"
        assert str(study.standing) == study.standing["sentence"]
        assert list(tmp_path.iterdir()) == []
        exported = study.export(tmp_path / "log.json")
        study.report(tmp_path / "report.html")
    assert replay(ExportFile(tmp_path / "log.json")).verdict == verdict
    assert exported == json.loads((tmp_path / "log.json").read_text())
    assert "</html>" in (tmp_path / "report.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.json", "report.html"]


def test_two_studies_in_memory_know_nothing_of_each_other() -> None:
    with bestarm.create_study(ARMS) as first, bestarm.create_study(["X", "Y"]) as second:
        assert {trial.arm for trial in first.ask(6)} == set(ARMS)
        assert {trial.arm for trial in second.ask(6)} == {"X", "Y"}
        assert repr(first) == "<bestarm study 'study', in memory>"


def test_what_a_problem_and_a_method_take_are_keywords() -> None:
    options: dict[str, Any] = {
        "goal": "lowest",
        "sigma": 0.1,
        "delta": 0.01,
        "thrift": "messages",
        "name": "ligands",
    }
    with bestarm.create_study(ARMS, method="sharp:min_batch=6", agents=3, **options) as study:
        status = study.status()
    assert (study.agent, status["study"], status["agents"]) == ("me", "ligands", 3)
    assert (status["problem"]["goal"], status["problem"]["delta"]) == ("lowest", 0.01)
    assert (status["parameters"]["thrift"], status["parameters"]["min_batch"]) == ("messages", 6)


def test_a_problem_may_be_given_whole(tmp_path: Path) -> None:
    problem = Problem(ARMS, name="ligands", sigma=0.2)
    path = tmp_path / "problem.toml"
    path.write_text('name = "ligands"\narms = ["A", "B", "C"]\nsigma = 0.2\n')
    for given in (problem, problem.to_dict(), path, str(path)):
        with bestarm.create_study(problem=given, delta=0.1) as study:
            found = Problem.from_dict(study.status()["problem"])
        assert found == Problem(ARMS, name="ligands", sigma=0.2, delta=0.1)


def test_several_sites_of_one_study() -> None:
    with bestarm.create_study(ARMS, sigma=0.3) as study:
        a, b = study.lab("lab-a", plate=6), study.lab("lab-b", cannot=["C"])
        assert study.lab("lab-a") is a
        for lab in (a, b):
            for trial in lab.ask(6):
                lab.tell(trial, measure(trial))
            lab.leave()
        sites = {site["agent"]: site["samples"] for site in study.status()["sites"]}
        assert sites == {"lab-a": 6, "lab-b": 6}
        assert [row["arm"] for row in b.history() if row["arm"] == "C"] == []


def test_the_verbs_of_a_site_and_of_a_coordinator() -> None:
    with bestarm.create_study(ARMS, sigma=0.3) as study:
        first, second, *_ = study.ask(6)
        assert study.tell(first, 0.5)
        assert not study.tell(first, 0.5)
        with pytest.raises(UserError, match="if that was a mistake, correct it"):
            study.tell(first, 0.6)
        assert study.correct(first, 0.6, "a slip")
        assert study.history()[0]["reason"] == "a slip"
        study.give_back(second)
        assert second not in study.open
        assert study.cannot("C", "used up") >= 0
        study.can_again("C")
        assert study.leave()
        assert not study.leave()
        assert study.tell_counts({"A": (4, 2.4), "B": (4, 2.0)}, "monday")
        assert study.correct_counts("monday", {"A": (4, 2.5), "B": (4, 2.0)}, "late")
        assert "C was withdrawn" in study.withdraw_arm("C", "no longer sold")
        assert "D" in study.add_arm("D", reason="arrived")
        study.close("holiday")
        assert study.finished
        assert study.ask(2) == []
        study.reopen("back")
        assert not study.finished
        assert study.ask(2)
        said = [line["sentence"] for line in study.log(50)]
        assert any("closed" in sentence and "holiday" in sentence for sentence in said)
        assert {line["by"] for line in study.log(50)} == {None, "me", "admin me"}


def test_a_slip_is_asked_about() -> None:
    with bestarm.create_study(ARMS, sigma=0.3) as study:
        first, *others = study.ask(8)
        for trial in others:
            study.tell(trial, 0.5 + 0.01 * trial.number)
        with pytest.raises(Doubtful, match="say that you are sure"):
            study.tell(first, 500.0)
        assert study.tell(first, 500.0, sure=True)


def test_a_study_in_a_file_goes_on_where_it_was(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ligands.db'}"
    with bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.3) as study:
        trials = study.ask(4)
        study.tell(trials[0], 0.5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ligands.db", "ligands.journals"]
    with bestarm.open_study(url) as study:
        assert study.name == "ligands"
        assert study.open == sorted(trials[1:], key=lambda trial: trial.number)
        assert len(study.history()) == 1
    with pytest.raises(UserError, match=r"there is a study 'ligands' already; .* exist_ok=True"):
        bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.3)
    with pytest.raises(UserError, match="'ligands' already, about another problem"):
        bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.4, exist_ok=True)
    with bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.3, exist_ok=True) as study:
        assert study.ask(3) == trials[1:]


def test_a_cell_of_a_notebook_may_be_run_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ligands.db'}"
    for told in range(3):  # the study of the last time is dropped, not released
        study = bestarm.create_study(ARMS, storage=url, sigma=0.3, exist_ok=True)
        gc.collect()
        assert len(study.history()) == told
        study.tell(study.ask(1)[0], 0.5)
    study.release()
    study.release()


def test_a_script_that_ends_without_a_word_ends(tmp_path: Path) -> None:
    make = "import bestarm\nstudy = bestarm.create_study(['A', 'B'], storage='sqlite:///x.db')\n"
    script = make + "study.tell(study.ask()[0], 1)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with bestarm.open_study(f"sqlite:///{tmp_path / 'x.db'}") as study:
        assert [row["reward"] for row in study.history()] == [1.0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "give the arms, as in create_study"),
        ({"arms": ["A"]}, "at least"),
        ({"arms": ARMS, "problem": Problem(ARMS)}, "one of them"),
        ({"arms": ARMS, "delta": 2}, "delta is 2"),
        ({"arms": ARMS, "detla": 2}, "detla"),
        ({"arms": ARMS, "method": "best"}, "best"),
        ({"arms": ARMS, "agent": "my bench"}, "agent is 'my bench'; it must be"),
        ({"arms": ARMS, "name": "a study"}, "which is the study's too"),
        ({"arms": ARMS, "storage": "ligands.db"}, "storage is 'ligands.db'; it must be sqlite:///file.db or"),
        ({"arms": ARMS, "storage": "sqlite://"}, "sqlite:// is in memory"),
        ({"arms": ARMS, "storage": "sqlite:////nowhere/x.db"}, "there is no folder '/nowhere'"),
    ],
)
def test_bad_input_has_its_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        bestarm.create_study(**options)


def test_a_study_whose_plan_would_not_fit_into_a_body_is_refused(tmp_path: Path) -> None:
    """A server that is started on the storage later could not read its batches."""
    storage = f"sqlite:///{tmp_path / 'wide.db'}"
    names = [f"{k:088}" for k in range(10_000)]
    with pytest.raises(UserError, match="longer than 1000000 bytes"):
        bestarm.create_study(names, name="wide", storage=storage)
    bestarm.create_study(names[:100], name="wide", storage=storage).release()


def test_a_study_that_is_not_there_has_its_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ligands.db'}"
    with pytest.raises(UserError, match=r"there is no storage .*ligands.db'; `bestarm study create` makes one"):
        bestarm.open_study(url)
    assert list(tmp_path.iterdir()) == []
    bestarm.create_study(ARMS, storage=url, name="first").release()
    with pytest.raises(Refused, match="there is no study 'second'"):
        bestarm.open_study(url, "second")
    bestarm.create_study(ARMS, storage=url, name="second").release()
    with pytest.raises(UserError, match=r"study is not given, and .*ligands.db has 2 of them; name one"):
        bestarm.open_study(url)


def test_a_new_arm_is_tried_beside_the_leader() -> None:
    """A batch of the new arm alone would be compared with nothing; of visitors it would be a whole day's."""
    with bestarm.create_study(["A", "B"], goal="lowest") as study:
        lab = study.lab("north")
        lab.tell_counts({"A": (6, 3.0, 2.2), "B": (6, 3.3, 2.2)})
        study.add_arm("C")
        lab.tell_counts({"A": (6, 3.0, 2.2), "B": (6, 3.3, 2.2)})
        assert lab.split == {"A": 0.5, "C": 0.5}
        lab.cannot("A")
        assert study.lab("south", cannot=["A"]).split == {"B": 0.5, "C": 0.5}


def test_a_plan_whose_arm_was_withdrawn_is_made_anew() -> None:
    with bestarm.create_study(ARMS, sigma=0.3, sites="alike") as study:
        study.tell_counts({"A": (4, 2.4), "B": (4, 2.0)})
        assert study.lab().split == {"C": 1.0}
        study.withdraw_arm("C", "no longer sold")
        assert {trial.arm for trial in study.ask(6)} == {"A", "B"}
