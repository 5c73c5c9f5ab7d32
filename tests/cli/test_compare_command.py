"""`bestarm compare`: several methods, the same seeds."""

from __future__ import annotations

import json
from pathlib import Path

from command import QUICK, Call

import bestarm as package
from bestarm.comparison import WORLDS as NAMED


def test_one_object_a_method_with_the_seeds_of_simulate(call: Call) -> None:
    code, printed, errors = call(
        "compare", *QUICK, "--methods", "famabpe,sharp:thrift=messages", "--format", "json"
    )
    assert (code, errors) == (0, "")
    first, second = json.loads(printed)
    assert [first["label"], second["label"]] == ["famabpe", "sharp:thrift=messages"]
    problem = package.Problem.quick([0.9, 0.5], sigma=0.3)
    for found, alone in (
        (first, package.simulate(problem, "famabpe", runs=4, engine="rounds")),
        (second, package.simulate(problem, "sharp", runs=4, engine="rounds", thrift="messages")),
    ):
        assert found["samples"]["each"] == alone.samples.tolist()
        assert found["method"] == alone.method


def test_a_rule_can_be_exchanged_and_common_settings_go_to_all(call: Call) -> None:
    methods = "famabpe,famabpe:stopping=pairs:trigger=aim"
    code, printed, _ = call("compare", *QUICK, "--methods", methods, "--set", "min_batch=2", "--format", "json")
    assert code == 0
    plain, changed = (found["parameters"] for found in json.loads(printed))
    assert {key for key in plain if plain[key] != changed[key]} == {"stopping", "trigger"}
    assert plain["min_batch"] == 2


def test_the_table_has_a_line_a_method(call: Call) -> None:
    code, table, _ = call("compare", *QUICK, "--methods", "famabpe,sharp,ugapec")
    assert code == 0
    starts = [line.split()[0] for line in table.splitlines() if line.strip()]
    assert starts[1] == "method"
    assert starts[3:6] == ["famabpe", "sharp", "ugapec"]
    assert "promised are at most 5 %" in table
    assert "Lower bound for any method" in table


def test_baselines_without_agents_go_without_the_schedule(call: Call) -> None:
    words = (*QUICK, "--rates", "1,3", "--methods", "sharp,ugapec")
    code, _, errors = call("compare", *words)
    assert code == 0
    assert errors == "bestarm: ugapec has no agents at their own pace; it runs without the schedule.\n"


def test_the_world_is_the_same_for_all(call: Call) -> None:
    words = (*QUICK, "--offsets", "0,0.2", "--rewards", "yes-no", "--sigma", "0.5")
    code, table, _ = call("compare", *words, "--methods", "sharp,ugapec")
    assert code == 0
    assert "rewards=yes-no, offsets=0,0.2" in table.splitlines()[0]


def test_undecided_runs_are_named(call: Call) -> None:
    words = ("--means", "1,0.99", "--sigma", "1", *QUICK[4:], "--max-samples", "30")
    code, table, _ = call("compare", *words, "--methods", "sharp,famabpe")
    assert code == 0
    assert "Undecided runs: sharp 4 of 4, famabpe 4 of 4." in table


def test_plot(folder: Path, call: Call) -> None:
    code, _, errors = call("compare", *QUICK, "--methods", "famabpe,ugapec", "--plot", "compare.svg")
    assert (code, errors) == (0, "")
    drawing = Path("compare.svg").read_text()
    for word in ("famabpe", "ugapec", "samples", "communications", "lower bound"):
        assert word in drawing


WORLDS = ("compare", "--worlds", "stairs", "--runs", "3", "--engine", "rounds", "--agents", "2")


def test_a_world_with_a_name_takes_no_other_problem(call: Call) -> None:
    for words, named in (
        (("--sigma", "0.5", "--delta", "0.01"), "--sigma and --delta"),
        (("--noise", "0.5"), "--noise"),
        (("--means", "1,0"), "--means"),
        (("--offsets", "0,1"), "--offsets"),
    ):
        code, _, errors = call(*WORLDS, *words)
        assert (code, errors) == (*(2, f"bestarm: --worlds brings its own problems; leave {named} out.\n"),)


def test_what_is_said_of_methods_and_agents_counts_there_too(call: Call) -> None:
    methods = ("--methods", "famabpe,famabpe:gamma=0.2", "--set", "gamma=0.5", "--format", "json")
    code, printed, _ = call(*WORLDS, *methods)
    assert code == 0
    rows = json.loads(printed)
    assert [row["method"] for row in rows] == ["famabpe:gamma=0.5", "famabpe:gamma=0.5:gamma=0.2"]
    problem = NAMED["stairs"].problem
    for row, gamma in zip(rows, (0.5, 0.2), strict=True):
        alone = package.simulate(problem, "famabpe", agents=2, runs=3, engine="rounds", gamma=gamma)
        assert row["samples"] == alone.summary().mean
    code, printed, _ = call(*WORLDS, "--methods", "sharp", "--plate", "12", "--format", "json")
    plates = package.simulate(problem, "sharp", agents=2, runs=3, engine="rounds", plate=12)
    assert json.loads(printed)[0]["samples"] == plates.summary().mean
    code, _, errors = call(*WORLDS[:-1], "0")
    assert (code, errors) == (2, "bestarm: agents is 0; it must be a whole number of at least 1.\n")


def test_who_is_left_out_is_said_beside_json_too(call: Call) -> None:
    words = ("compare", "--worlds", "stairs,no-sigma", *WORLDS[3:], "--methods", "uniform", "--format", "json")
    code, printed, errors = call(*words)
    assert (code, [row["world"] for row in json.loads(printed)]) == (0, ["stairs"])
    assert errors.startswith("bestarm: uniform is left out in no-sigma: ")


def test_nothing_is_promised_of_what_has_no_proof_or_not_what_it_needs(call: Call) -> None:
    code, table, _ = call("compare", *QUICK, "--methods", "sharp,peeking")
    assert code == 0
    assert "promised are at most 5 %" in table
    assert "Nothing is promised of peeking: there is no proof for it." in table
    assert "promised of sharp" not in table
    code, table, _ = call("compare", *QUICK, "--methods", "lucb,peeking", "--noise", "0.5")
    assert "Wrong answers: nothing is promised here." in table
    assert "Nothing is promised of lucb: rewards stray further than the sigma that it is told." in table
