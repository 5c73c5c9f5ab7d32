"""What a person did wrong is one sentence on stderr, and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import Call, bestarm

GIVEN = ("--means", "0.9,0.5", "--sigma", "0.3")

SENTENCES = [
    ((), "there is no problem: give a problem.toml, or for instance --means 0.9,0.8,0.7 --sigma 0.3."),
    (("nowhere.toml",), "nowhere.toml: there is no such file."),
    (("problem.toml", "--means", "1,2"), "a problem file and --means are both given"),
    (("problem.toml", "other.toml"), "unexpected extra argument"),
    (("blind.toml",), "has no means, and a simulation needs the truth"),
    (("problem.toml", "--delta", "2"), "delta is 2.0; it must be a number above 0 and below 1."),
    (("problem.toml", "--set", "agents=3"), "sharp has no parameter 'agents'"),
    (
        ("--means", "0.9,0.5"),
        "has no sigma, and a simulation needs to know how much rewards scatter: give noise",
    ),
    (("--means", "0.9", "--sigma", "1"), "arms has 1 of them"),
    (("--means", "0.9;0.5", "--sigma", "1"), "--means is '0.9;0.5'; it must be numbers separated by commas"),
    (("--means", "0.9,0.5", "--sigma", "0"), "sigma is 0.0"),
    ((*GIVEN, "--method", "shrap"), "Did you mean sharp?"),
    ((*GIVEN, "--set", "pseudocount=3"), "Did you mean pseudo_count?"),
    ((*GIVEN, "--set", "gamma"), "--set takes name=value"),
    ((*GIVEN, "--set", "thrift=none"), "thrift is 'none'"),
    ((*GIVEN, "--method", "falinpe"), "has none: add feature columns"),
    ((*GIVEN, "--runs", "0"), "runs is 0"),
    ((*GIVEN, "--runs", "many"), "Invalid value for '--runs': it must be a whole number;"),
    ((*GIVEN, "--epsilon", "little"), "Invalid value for '--epsilon': it must be a number;"),
    ((*GIVEN, "--format", "xml"), "'xml' is not one of 'table', 'json'"),
    ((*GIVEN, "--agents", "1000000000000"), "agents is 1000000000000; it must be at most 10000000."),
    ((*GIVEN, "--max-samples", "9" * 30), "it must be at most 1000000000000."),
    ((*GIVEN, "--set", "gamma=nan"), "the value must be a finite number, or a word"),
    ((*GIVEN, "--set", "gamma=abc"), "gamma is 'abc'; it must be a number above 0."),
    ((*GIVEN, "--seed", "-1"), "seed is -1"),
    ((*GIVEN, "--agents", "0"), "agents is 0"),
    ((*GIVEN, "--jobs", "0"), "jobs is 0"),
    ((*GIVEN, "--jobs", "2", "--cluster", "tcp://here:1"), "--jobs and --cluster are both given"),
    ((*GIVEN, "--engine", "rapid"), "engine is 'rapid'; it must be one of events, rounds."),
    ((*GIVEN, "--rewards", "bounded", "--reward-range", "0,0.7"), "from 0.0 to 0.7, the reward_range"),
    ((*GIVEN, "--rewards", "table"), "rewards=table needs a table"),
    (
        (*GIVEN, "--rewards", "exact"),
        "rewards is 'exact'; it must be one of gaussian, yes-no, bounded, table, heavy.",
    ),
    ((*GIVEN, "--noise", "loud"), "--noise is 'loud'; it must be numbers separated by commas"),
    ((*GIVEN, "--noise", "-1"), "noise is -1.0; it must be at least 0."),
    ((*GIVEN, "--noise", "1,1,1,1,1"), "noise has 5 numbers; it must be one, or "),
    ((*GIVEN, "--offsets", "0,x"), "--offsets is '0,x'; it must be numbers separated by commas"),
    ((*GIVEN, "--drift", "inf"), "drift is inf; it must be a finite number."),
    ((*GIVEN, "--interactions", "-0.1"), "interactions is -0.1; it must be a number of at least 0."),
    ((*GIVEN, "--plate", "0"), "plate is 0; it must be a whole number from 1 to"),
    ((*GIVEN, "--method", "ugapec", "--plate", "8"), "no schedule or plate can be given"),
    ((*GIVEN, "--table", "good.csv"), "--means and --table are both given"),
    (("problem.toml", "--table", "good.csv", "--rewards", "gaussian"), "but --rewards is gaussian"),
    (("problem.toml", "--table", "bad.csv"), "bad.csv: line 3: value is 'high'; it must be a number."),
    (("problem.toml", "--table", "wide.csv"), "wide.csv: line 1 is 'arm,value,when'"),
    (("problem.toml", "--table", "empty.csv"), "empty.csv: there are no rewards below the header."),
    ((*GIVEN, "--rates", "1,2", "--agents", "3"), "--rates has 2 numbers; it must have 3"),
    ((*GIVEN, "--rates", "1,0"), "each must be a number above 0"),
    ((*GIVEN, "--offline", "3:9"), "--offline is '3:9'; it must be AGENT:FROM:UNTIL, for instance 3:100:200."),
    ((*GIVEN, "--offline", "3:9:2"), "agent 3 is offline from 9.0 until 2.0"),
    ((*GIVEN, "--leave", "10:5"), "the schedule names agent 10; agents are 0 to 9."),
    ((*GIVEN, "--replay", "words.txt"), "words.txt: 'lab' is not the number of an agent"),
    ((*GIVEN, "--replay", "blank.txt"), "blank.txt: the file is empty"),
    ((*GIVEN, "--replay", "ones.txt", "--rates", "1,1"), "--replay says who is active when"),
    ((*GIVEN, "--method", "ugapec", "--rates", "1,2"), "ugapec has no agents at their own pace"),
    ((*GIVEN, "--plot", "out.gif"), "can't be saved as 'out.gif'"),
    ((*GIVEN, "--plot", "nowhere/out.png"), "there is no such folder"),
    ((*GIVEN, "--max-samples", "1"), "max_samples is 1"),
    ((*GIVEN, "--format", "xml"), "Invalid value for '--format'"),
    ((*GIVEN, "--colour"), "No such option: --colour"),
]


@pytest.fixture
def files(folder: Path) -> Path:
    """The files that the sentences are about."""
    (folder / "good.csv").write_text("arm,value\nA,1\nB,0\nC,0\n")
    (folder / "bad.csv").write_text("arm,value\nA,1\nB,high\n")
    (folder / "wide.csv").write_text("arm,value,when\nA,1,2\n")
    (folder / "empty.csv").write_text("arm,value\n")
    (folder / "words.txt").write_text("0 1 lab 2")
    (folder / "ones.txt").write_text("1 1 1")
    (folder / "blank.txt").write_text("\n")
    return folder


@pytest.mark.parametrize(("words", "sentence"), SENTENCES, ids=[sentence for _, sentence in SENTENCES])
def test_simulate(words: tuple[str, ...], sentence: str, files: Path, call: Call) -> None:
    before = sorted(files.iterdir())
    code, printed, errors = call("simulate", *words)
    assert (code, printed) == (2, "")
    assert errors.startswith("bestarm: ")
    assert errors.count("\n") == 1
    assert sentence in errors
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [
        ("famabpe,shrap", "Did you mean sharp?"),
        ("famabpe,,sharp", "--methods has ''"),
        ("famabpe:gamma", "--methods has 'famabpe:gamma'; a method is a name with settings after colons"),
        ("sharp,sharp", "--methods has 'sharp' twice"),
        ("sharp:agents=3", "sharp has no parameter 'agents'"),
        ("famabpe:gamma=-1", "gamma is -1"),
    ],
)
def test_compare(methods: str, sentence: str, call: Call) -> None:
    code, printed, errors = call("compare", *GIVEN, "--methods", methods)
    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1
    assert sentence in errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--method", "ugapec"), "take sharp or famabpe"),
        (("--method", "falinpe"), "has none"),
        (("--agents", "0"), "agents is 0"),
        (("--seed", "-3"), "--seed is -3"),
    ],
)
def test_demo(words: tuple[str, ...], sentence: str, call: Call) -> None:
    code, printed, errors = call("demo", *words)
    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1
    assert sentence in errors


@pytest.mark.parametrize("words", [("simulate",), ("simulate", *GIVEN, "--runs", "x"), ("fly",)])
def test_the_real_command_ends_with_2(words: tuple[str, ...]) -> None:
    process = bestarm(*words)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith("bestarm: ")
    assert process.stderr.count("\n") == 1


def test_the_module_is_the_command() -> None:
    words = [sys.executable, "-m", "bestarm", "simulate", "--runs", "0", *GIVEN]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == bestarm("simulate", "--runs", "0", *GIVEN).stderr
