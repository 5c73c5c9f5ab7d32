"""`bestarm study create` without a file and with earlier data; `rename` and `archive`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Call
from serving import serving

from bestarm.names import RULE

ARMS = ("--name", "ligands", "--arms", "PPh3,XPhos,SPhos")
EARLIER = "site,batch,arm,reward\nlab-a,1,PPh3,70\nlab-a,1,XPhos,80\nlab-a,1,SPhos,75\nlab-a,2,XPhos,82\n"

SENTENCES = [
    ((), "there is no problem: give a problem.toml, or for instance --name ligands --arms PPh3,XPhos,SPhos."),
    (("problem.toml", "--arms", "A,B"), "a problem file and --arms are both given"),
    (("--arms", "A,B"), "the study has no name: give --name, for instance --name ligands."),
    ((*ARMS, "--study", "other"), "--name is 'ligands' and --study is 'other'; both are the study's name"),
    (("--name", "x", "--arms", "A"), "arms has 1 of them; it must have at least two."),
    (("--name", "x", "--arms", "A,A"), "name of arm 2 is 'A', like that of arm 1"),
    (("--name", "x", "--arms", "A,,B"), "name of arm 2 is ''; it must be one line of text"),
    ((*ARMS, "--delta", "2"), "delta is 2.0; it must be a number above 0 and below 1."),
    ((*ARMS, "--goal", "middle"), "goal is 'middle'; it must be 'highest' or 'lowest'."),
    ((*ARMS, "--rewards", "stars"), "rewards is 'stars'"),
    ((*ARMS, "--sigma", "0"), "sigma is 0.0"),
    ((*ARMS, "--reward-range", "0"), "--reward-range is '0'; it must be two numbers, for instance 0,1."),
    ((*ARMS, "--reward-range", "0,1,2"), "--reward-range is '0,1,2'; it must be two numbers"),
    ((*ARMS, "--sites", "equal"), "sites is 'equal'; it must be 'differ' or 'alike'."),
    ((*ARMS, "--budget", "0"), "budget is 0; it must be a whole number of at least 1."),
    ((*ARMS, "--deadline", "soon"), "deadline is 'soon'; it must be a day or a time"),
    ((*ARMS, "--control", "RuPhos"), "control is 'RuPhos'; it must be the name of an arm."),
    ((*ARMS, "--unit", " %"), "unit is ' %'; it must be one line of text without spaces around it."),
    ((*ARMS, "--unit", "x" * 21), "it must be at most 20 letters long."),
    ((*ARMS, "--items", "--epsilon", "0.1"), "with items only the best arm itself can be found"),
    ((*ARMS, "--agents", "0"), "Invalid value for '--agents'"),
    ((*ARMS, "--import", "nowhere.csv"), "nowhere.csv: there is no such file."),
    ((*ARMS, "--import", "empty.csv"), "empty.csv: there are no data below the header."),
    ((*ARMS, "--import", "columns.csv"), "columns.csv: line 1 is 'lab,arm'; the columns must be site,batch,"),
    ((*ARMS, "--import", "sums.csv"), "sums.csv: the test rule-out measures how much rewards scatter"),
]


@pytest.fixture
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "earlier.csv").write_text(EARLIER)
    (folder / "empty.csv").write_text("site,batch,arm,reward\n")
    (folder / "columns.csv").write_text("lab,arm\na,PPh3\n")
    (folder / "sums.csv").write_text("site,batch,arm,pulls,sum\na,1,PPh3,2,140\n")
    monkeypatch.setenv("BESTARM_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("BESTARM_TOKEN", "x" * 43)
    return folder


@pytest.mark.parametrize(("words", "sentence"), SENTENCES, ids=[sentence for _, sentence in SENTENCES])
def test_bad_input_never_reaches_the_server(
    words: tuple[str, ...], sentence: str, files: Path, call: Call
) -> None:
    before = sorted(files.iterdir())
    code, printed, errors = call("study", "create", *words)
    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1
    assert sentence in errors
    assert sorted(files.iterdir()) == before


def test_every_bad_line_of_earlier_data_has_its_sentence(files: Path, call: Call) -> None:
    (files / "bad.csv").write_text(EARLIER + "lab-a,3,RuPhos,1\nlab a,3,XPhos,1\nlab-a,3,XPhos,much\n")
    code, printed, errors = call("study", "create", *ARMS, "--import", "bad.csv")
    assert (code, printed) == (2, "")
    *lines, last = errors.splitlines()
    assert lines == [
        "bestarm: bad.csv, line 6: arm is 'RuPhos', which the problem does not have.",
        f"bestarm: bad.csv, line 7: site is 'lab a'; it must be {RULE}.",
        "bestarm: bad.csv, line 8: reward is 'much'; it must be a number.",
    ]
    assert last == "bestarm: bad.csv: 3 lines can't be used; nothing was created."


def test_a_study_from_options_with_earlier_data_that_gets_another_name(
    files: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(*words: str) -> str:
        code, printed, errors = call(*words)
        assert code == 0, errors
        return printed

    with serving(folder=files) as server:
        monkeypatch.setenv("BESTARM_URL", server.url)
        monkeypatch.setenv("BESTARM_TOKEN", server.admin_token)
        words = (*ARMS, "--unit", "%", "--control", "PPh3", "--import", "earlier.csv")
        code, printed, errors = call("study", "create", *words)
        assert code == 0
        assert "with sharp for 10 agents. It begins with 4 earlier samples." in printed
        assert "Rewards are in %; higher is better." in printed
        assert "warning: earlier data count like the sites' own uploads" in errors
        code, _, errors = call("study", "create", *words)
        assert code == 2
        assert "there is a study 'ligands' already" in errors

        lowest = ("--study", "ees", "--goal", "lowest", "--sigma", "2", "--format", "json")
        made = json.loads(done("study", "create", "problem.toml", *lowest))
        assert (made["study"], made["problem"]["goal"], made["agents"]) == ("ees", "lowest", 10)
        assert "\nLower is better.\n" in made["promise"]
        code, _, errors = call("study", "create", "problem.toml", "--study", "x", "--method", "famabpe")
        assert code == 2
        assert "the test famabpe counts on at most so many; say how many." in errors

        shown = done("study", "show", "ligands")
        assert "mean, %" in shown
        assert "lab-a.earlier" in shown
        done("study", "export", "ligands", "--out", "ligands.json")
        assert "2 uploads replayed" in done("study", "verify", "ligands.json")

        assert "ligands is called phosphines now" in done("study", "rename", "ligands", "phosphines")
        assert "phosphines is archived; it is still open." in done("study", "archive", "ligands")
        assert "phosphines" not in done("study", "list")
        assert "open, archived" in done("study", "list", "--all")
        assert "phosphines is not archived." in done("study", "unarchive", "phosphines")
        code, _, errors = call("study", "rename", "ees", "ligands")
        assert code == 2
        assert "study 'phosphines' was called 'ligands' before" in errors
