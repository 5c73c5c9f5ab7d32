"""`bestarm simulate`: what it prints, and what its options mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import QUICK, Call, bestarm
from typer.testing import CliRunner

import bestarm as package
from bestarm.cli.main import app
from bestarm.lower_bound import lower_bound

KEYS = [
    "method",
    "parameters",
    "agents",
    "runs",
    "seed",
    "engine",
    "world",
    "samples",
    "communications",
    "switches",
    "wrong",
    "unfinished",
    "arms",
    "bounds",
    "ratios",
    "seconds",
]


def simulated(*words: str) -> dict[str, Any]:
    """The object that the command prints."""
    result = CliRunner().invoke(app, ["simulate", *words, "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_json_is_the_contract(folder: Path) -> None:
    words = ("problem.toml", "--method", "sharp", "--agents", "3", "--runs", "50", "--seed", "7")
    process = bestarm("simulate", *words, "--engine", "events", "--format", "json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout, parse_constant=pytest.fail)
    assert list(found) == KEYS
    for field in ("samples", "communications", "switches"):
        assert list(found[field]) == ["mean", "stderr", "each"]
        assert found[field]["mean"] == pytest.approx(sum(found[field]["each"]) / 50)
    same = package.simulate(package.Problem.load("problem.toml"), "sharp", agents=3, runs=50, seed=7)
    assert found["samples"]["each"] == same.samples.tolist()
    assert found["wrong"] == {"count": same.wrong, "rate": same.wrong / 50}
    assert found["arms"] == same.arms
    assert list(found["arms"]) == ["A", "B", "C"]
    assert found["ratios"]["samples_to_lower"] == found["samples"]["mean"] / found["bounds"]["lower"]


def test_the_table_says_what_it_cost_and_what_is_promised(folder: Path, call: Call) -> None:
    words = ("--method", "famabpe", "--engine", "rounds", "--runs", "5")
    code, table, errors = call("simulate", "problem.toml", *words)
    assert (code, errors) == (0, "")
    assert "famabpe on ligands: 3 arms, 10 agents, 5 runs, seed 0, rounds engine" in table
    for word in (
        "samples",
        "communications",
        "switches",
        "median",
        "5–95 %",
        "max",
        "lower bound",
        "theorem's",
    ):
        assert word in table
    assert "Wrong answers: 0 of 5 (0 %); promised: at most 10 %." in table
    assert "Undecided" not in table
    returned = [line.split() for line in table.splitlines() if line.startswith("A ")]
    assert returned == [["A", "0.9", "5"]]


def test_nothing_is_promised_of_what_has_no_proof(call: Call) -> None:
    code, table, _ = call("simulate", *QUICK, "--method", "halving", "--set", "budget=8")
    assert code == 0
    assert "; nothing is promised: there is no proof for it." in table
    code, table, _ = call("simulate", *QUICK, "--method", "lucb", "--drift", "0.5")
    assert "; nothing is promised: it assumes that an arm's mean is the same at every site" in table


def test_flags_override_the_file(folder: Path) -> None:
    words = ("--runs", "1", "--engine", "rounds")
    ours = simulated("problem.toml", "--sigma", "0.2", "--delta", "0.01", "--epsilon", "0.05", *words)
    problem = package.Problem.from_dict(
        package.Problem.load("problem.toml").to_dict() | {"sigma": 0.2, "delta": 0.01, "epsilon": 0.05}
    )
    theirs = package.simulate(problem, runs=1, engine="rounds")
    assert ours["samples"]["each"] == theirs.samples.tolist()
    assert ours["bounds"] == theirs.to_json()["bounds"]


def test_sigma_replaces_a_reward_range_and_says_so(folder: Path, call: Call) -> None:
    code, _, errors = call("simulate", "ranged.toml", "--sigma", "0.2", "--runs", "1", "--engine", "rounds")
    assert code == 0
    assert errors == "bestarm: --sigma replaces the file's reward_range, so rewards are not limited to it.\n"


def test_parameters_of_the_method() -> None:
    found = simulated(*QUICK, "--method", "famabpe", "--set", "gamma=0.5", "--set", "stopping=pairs")
    assert found["parameters"]["gamma"] == 0.5
    assert found["parameters"]["stopping"] == "pairs"
    assert found["bounds"]["samples"] is None


def test_undecided_runs_get_a_sentence(call: Call) -> None:
    code, table, errors = call("simulate", "--means", "1,1", "--sigma", "1", *QUICK[4:], "--max-samples", "50")
    assert code == 0
    assert "Undecided runs: sharp 4 of 4." in table
    assert errors.startswith("bestarm: warning: arm-1 and arm-2 are equally good")


def test_many_arms_that_nobody_returned_share_a_line(call: Call) -> None:
    means = ",".join(["0.9"] + ["0.1"] * 19)
    code, table, _ = call("simulate", "--means", means, "--sigma", "0.1", *QUICK[4:])
    assert code == 0
    assert "19 others" in table
    assert "arm-7" not in table


def test_names_are_printed_as_they_are(folder: Path, call: Call) -> None:
    text = Path("problem.toml").read_text().replace('"A"', '"[red]A :100:"')
    Path("problem.toml").write_text(text)
    code, table, _ = call("simulate", "problem.toml", *QUICK[4:])
    assert code == 0
    assert "[red]A :100:" in table


def test_measured_rewards(folder: Path, call: Call) -> None:
    Path("measured.csv").write_text("arm,value\nX,0.5\nY,0.1\nX,0.4\n")
    found = simulated("--table", "measured.csv", "--sigma", "0.3", *QUICK[4:])
    assert found["arms"] == {"X": 4, "Y": 0}
    lower = lower_bound(package.Problem(["X", "Y"], means=[0.45, 0.1], sigma=0.3))
    assert found["bounds"]["lower"] == pytest.approx(lower)


def test_agents_are_as_many_as_rates() -> None:
    assert simulated(*QUICK, "--rates", "1,2,0.5")["agents"] == 3


def test_an_agent_that_is_away_changes_the_runs_and_one_that_leaves_ends_them() -> None:
    alone = (*QUICK, "--agents", "1")
    assert simulated(*alone, "--leave", "0:3")["unfinished"]["count"] == 4
    assert simulated(*alone, "--offline", "0:3:9")["unfinished"]["count"] == 0
    two = (*QUICK, "--agents", "2")
    assert simulated(*two, "--offline", "0:0:1000")["samples"] != simulated(*two)["samples"]


def test_a_replayed_schedule_uses_rounds_and_says_so(folder: Path, call: Call) -> None:
    Path("active.txt").write_text("0, 1 2\n0 1 2\n")
    words = ("--means", "0.9,0.5", "--sigma", "3", "--runs", "2", "--agents", "3", "--replay", "active.txt")
    code, printed, errors = call("simulate", *words, "--engine", "events", "--format", "json")
    assert code == 0
    found = json.loads(printed)
    assert found["engine"] == "rounds"
    assert found["samples"]["each"] == [2 + 6, 2 + 6]
    assert errors.count("\n") == 1
    assert "using --engine rounds" in errors


def test_jobs_change_nothing() -> None:
    one, two = (simulated(*QUICK, "--jobs", jobs) for jobs in ("1", "2"))
    assert one["samples"] == two["samples"]


WORLD = ("--noise", "0.2", "--offsets", "-0.1,0.2", "--drift", "0.1", "--interactions", "0.05", "--plate", "4")


def test_a_world_and_a_plate(call: Call) -> None:
    found = simulated(*QUICK, *WORLD)
    assert found["world"] == {"noise": 0.2, "offsets": [-0.1, 0.2], "drift": 0.1, "interactions": 0.05}
    same = package.simulate(
        package.Problem.quick([0.9, 0.5], sigma=0.3),
        runs=4,
        engine="rounds",
        noise=0.2,
        offsets=[-0.1, 0.2],
        drift=0.1,
        interactions=0.05,
        plate=4,
    )
    assert found["samples"]["each"] == same.samples.tolist()
    code, table, _ = call("simulate", *QUICK, *WORLD, "--rewards", "heavy")
    assert code == 0
    for word in ("noise=0.2", "offsets=-0.1,0.2", "drift=0.1", "interactions=0.05", "rewards=heavy"):
        assert word in table
    assert simulated(*QUICK, "--noise", "0.2,0.4")["world"] == {"noise": [0.2, 0.4]}


def test_the_method_is_told_that_rewards_are_yes_or_no_unless_it_is_told_a_sigma() -> None:
    words = ("--means", "0.9,0.5", "--runs", "4", "--engine", "rounds", "--rewards")
    told = [simulated(*words, *rest)["parameters"]["stopping"] for rest in (("yes-no",), ("bernoulli",))]
    assert told == ["two-by-two", "two-by-two"]
    assert simulated(*words, "yes-no", "--sigma", "0.5")["parameters"]["stopping"] != "two-by-two"


def test_bounded_rewards_without_a_file(call: Call) -> None:
    words = ("--rewards", "bounded", "--runs", "4", "--engine", "rounds", "--agents", "3")
    assert simulated("--means", "0.9,0.2", *words)["parameters"]["stopping"] == "betting"
    wide = simulated("--means", "90,20", "--reward-range", "0,100", *words)
    assert (wide["parameters"]["stopping"], wide["wrong"]["count"]) == ("betting", 0)
    told = simulated("--means", "0.9,0.2", "--sigma", "0.5", *words)
    assert told["parameters"]["stopping"] == "rule-out"
    code, _, err = call("simulate", "--means", "90,20", *words)
    assert (code, "from 0.0 to 1.0, the reward_range" in err) == (2, True)


def test_a_warning_is_one_line_without_a_file_name() -> None:
    process = bestarm("simulate", *QUICK, "--rewards", "bernoulli")
    assert process.returncode == 0
    assert process.stderr.startswith("bestarm: warning: Bernoulli rewards of problem 'problem' need sigma")
    assert process.stderr.count("\n") == 1
    assert ".py" not in process.stderr


@pytest.mark.parametrize("command", ["simulate", "compare", "demo"])
def test_help_teaches_by_examples(command: str) -> None:
    page = CliRunner().invoke(app, [command, "--help"]).stdout
    assert "Examples:\n" in page
    assert page.count(f"    bestarm {command}") >= 3
    if command != "demo":
        assert "Agents count from 0" in " ".join(page.split())


def test_without_a_command_there_is_help() -> None:
    process = bestarm()
    said = process.stdout + process.stderr
    assert said.index("At a site:") < said.index("For coordinators:") < said.index("For researchers:")
    assert "Traceback" not in process.stderr


LOWEST = """
goal = "lowest"
rewards = "yes-no"
epsilon = 0.05
arm = [{ name = "A", mean = 0.9 }, { name = "B", mean = 0.1 }, { name = "C", mean = 0.9 }]
"""


def test_the_lowest_rate(folder: Path, call: Call) -> None:
    Path("lowest.toml").write_text(LOWEST)
    found = simulated("lowest.toml", *QUICK[4:])
    assert found["arms"] == {"A": 0, "B": 4, "C": 0}
    assert found["wrong"]["count"] == 0
    code, table, errors = call("simulate", "lowest.toml", *QUICK[4:])
    assert (code, errors) == (0, "")
    assert "sigma=0.5" in table
    code, _, errors = call("simulate", "lowest.toml", "--sigma", "0.3", *QUICK[4:])
    assert code == 2
    assert errors.startswith(
        "bestarm: sigma is given, but rewards is 'yes-no', whose range says how they scatter"
    )


def test_a_range_beside_sigma_stays_a_check(folder: Path, call: Call) -> None:
    Path("both.toml").write_text(
        "sigma = 0.3\nreward_range = [0, 1]\n" + LOWEST.replace('rewards = "yes-no"', "")
    )
    code, _, errors = call("simulate", "both.toml", "--sigma", "0.2", *QUICK[4:])
    assert (code, errors) == (0, "")


def test_a_method_that_needs_sigma_says_so(folder: Path, call: Call) -> None:
    Path("bare.toml").write_text(LOWEST.replace('rewards = "yes-no"', ""))
    code, _, errors = call("simulate", "bare.toml", "--method", "famabpe", *QUICK[4:])
    assert code == 2
    assert errors.startswith("bestarm: famabpe needs sigma, and problem 'bare' has none: give sigma = …")
