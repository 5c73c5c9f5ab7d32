"""Rules and methods from outside of the package work wherever a name does."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import outside
import pytest

import bestarm
from bestarm.cli.demo.in_process import Show
from bestarm.cli.demo.problem import TITLE, truth
from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.intervals import intervals
from bestarm.methods import METHODS, SELECTIONS, TESTS, registry
from bestarm.methods.registry import load_plugins, register
from bestarm.plot import SPARE, looks, plot_compare, plot_trace
from bestarm.protocol.entries import ArmAdded, Correction, Upload
from bestarm.protocol.server import Server
from bestarm.rules import Parameter
from bestarm.service.view.said.promise import promise
from bestarm.service.view.said.remaining import remaining
from bestarm.simulation.api import prepare
from bestarm.sweeps.cell import Cell
from bestarm.testing import check_method, check_test

PROBLEM = bestarm.Problem.quick([0.9, 0.5, 0.3], sigma=0.3)


@pytest.fixture(autouse=True)
def rules(tmp_path: Path) -> Iterator[None]:
    with outside.brought(tmp_path):
        yield


def simulated(name: str = "mine", **how: Any) -> bestarm.Result:
    return bestarm.simulate(PROBLEM, name, agents=3, runs=10, **{"engine": "rounds"} | how)


@pytest.mark.parametrize("name", ["mine", "mine-alone", "mine-together"])
def test_every_kind_of_method_runs_through_agents_and_servers_or_its_loop(name: str) -> None:
    result = simulated(name)
    assert result.arms["arm-1"] == 10
    assert (result.communications.min() == 0) == (name == "mine-alone")
    assert result.bounds is not None
    assert (result.bounds.samples, result.bounds.lower > 0) == (None, True)


def test_rules_find_their_own_parameters_and_a_word_is_its_place() -> None:
    setting = bestarm.method("mine", PROBLEM, 3, lead=7, size="large").setting
    assert (setting.own[0], setting.own_selection[0], setting.own_trigger[0]) == (1.0, 7.0, 1.0)
    small, large = (simulated(size=size).summary("communications").mean for size in ("small", "large"))
    assert small > 1.5 * large
    with pytest.raises(UserError, match="slack is -1; it must be a number above 0"):
        bestarm.method("mine", PROBLEM, 3, slack=-1)
    with pytest.raises(UserError, match=r"mine has no parameter 'slakc'; it has .*Did you mean slack"):
        bestarm.method("mine", PROBLEM, 3, slakc=1)


def test_an_outside_rule_in_a_method_of_the_package() -> None:
    result = simulated("sharp", stopping="pairs", selection="fewest", lead=2.0)
    assert (result.wrong, result.parameters["selection"]) == (0, "fewest")


def in_words(pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    return int(np.argmin(pulls)) + 0 * len(f"{pulls[0]:.3f}")


def careful(pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    try:
        return int(np.argmin(pulls))
    except Exception as error:
        return len(str(error))


def chained(pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    if len(pulls) == 0:
        raise ValueError("no arms") from None
    return int(np.argmin(pulls))


def nth(place: int, pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    return int(np.argsort(pulls)[place])


class Counting:
    def __call__(self, pulls: Any, view: Any, reading: Any, setting: Any) -> int:
        return int(np.argmin(pulls))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (in_words, r" \(format spec in f-strings"),
        (careful, r" \(Exception object cannot be stored"),
        (chained, ""),
        (partial(nth, 0), r" \(Cannot compile partial objects, only functions"),
        (Counting(), r" \(Cannot compile Counting objects, only functions"),
    ],
)
def test_what_runs_through_agents_and_can_not_be_compiled_is_a_sentence(rule: Any, why: str) -> None:
    register(replace(SELECTIONS["fewest"], name="own", choose=rule, parameters=()))
    assert simulated("sharp", stopping="pairs", selection="own").wrong == 0
    with pytest.raises(UserError, match=rf"can't be compiled{why}.*take engine=rounds"):
        simulated("sharp", stopping="pairs", selection="own", engine="events")


def test_a_parameter_of_the_same_name_does_not_disturb_the_others() -> None:
    period = Parameter("period", "not a number here", "word", "short", ("short", "long"))
    register(replace(SELECTIONS["fewest"], name="slow", parameters=(period,)))
    assert simulated("sync-ugapec", period=50).wrong == 0


def test_figures_and_notebooks_draw_methods_that_nobody_knows() -> None:
    built = bestarm.method("sharp", PROBLEM, 3)
    renamed = bestarm.simulate(PROBLEM, replace(built, name="renamed"), runs=4, engine="rounds")
    results = [simulated("mine"), simulated("mine-alone"), renamed, simulated("sharp")]
    for result in results:
        result.plot()
        assert result._repr_html_().count("<img") == 1
    plot_compare(results)
    found = looks(result.method for result in results)
    assert found["mine"] == SPARE[0]
    assert found["mine-alone"] == ("#123456", "1")
    assert found["renamed"] == SPARE[1]
    assert len(set(found.values())) == 4
    _, rows = prepare(bestarm.method("mine", PROBLEM, 3), 0, "rounds").trace(0)
    plot_trace(rows, method="mine")
    bestarm.estimate(PROBLEM, "mine", 3, runs=4, engine="rounds").plot()


def test_a_server_folds_a_state_that_is_no_total() -> None:
    built = bestarm.method("mine", PROBLEM, 2)
    server = Server(built)
    random = np.random.default_rng(0)

    def upload(agent: str) -> Upload:
        rewards = random.normal(0.5, 0.3, (3, 4))
        squares = ((rewards - PROBLEM.centre) ** 2).sum(axis=1)
        tally = Tally.of([4, 4, 4], rewards.sum(axis=1).tolist(), squares.tolist())
        return Upload(PROBLEM.fingerprint, agent, 1, tally)

    answer = server.receive(upload("lab-a"))
    assert isinstance(answer, bestarm.Download)
    assert answer.plan is not None
    assert answer.total is None  # it is not a method that sends it
    server.receive(upload("lab-b"))
    assert (server.state.batches, server.state.pulls.tolist()) == (2, [8, 8, 8])
    assert np.allclose(server.state.squares, server.total.squares)
    again = Server.replay(built, [logged.entry for logged in server.entries])
    assert (again.verdict, again.state.first.tolist()) == (server.verdict, server.state.first.tolist())
    server.receive(ArmAdded("1", "admin", "arm-4"))
    assert server.now.challenger in server.arms
    right = Tally.of([3, 4, 4, 0], [1.5, 2.0, 2.5, 0.0], [1.0, 1.5, 2.0, 0.0])
    server.receive(Correction("2", "admin", "lab-a", 1, right))
    assert server.state.pulls.tolist() == [7, 8, 8, 0]
    assert server.state.first.tolist() == [1.5, 2.0, 2.5, 0.0]
    assert server.state.batches == 2


def test_a_test_without_intervals_shows_none_and_promises_what_it_says() -> None:
    built = bestarm.method("mine", PROBLEM, 2)
    tally = Tally.of([4, 4, 0], [3.0, 2.0, 0.0], [1.0, 1.0, 0.0])
    assert [row.mean for row in intervals(built, tally)] == [0.75, 0.5, None]
    full = intervals(built, Tally.of([4, 4, 4], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]))
    assert all((row.low, row.high) == (None, None) for row in full)
    said = promise(built)
    assert "sub-Gaussian scale" not in said
    assert "; the scatter is the same for all arms." in said
    assert "The number of agents is not a part of it" in said
    assert remaining(built, 100, bestarm.Verdict(False, "arm-1", "arm-2", 0.1, 0.5, 100)) is None


def test_the_demo_shows_it() -> None:
    federation = Show(bestarm.method("mine", truth(), 3), seed=0).run_through()
    picture = federation.snapshot(TITLE)
    assert picture.stopped
    assert picture.communications == messages(len(federation.server.log), len(federation.server.log))
    assert all(np.isnan(arm.low) for arm in picture.arms)


def test_names_stay_with_whom_they_belong_to() -> None:
    with pytest.raises(UserError, match="there is a test 'pairs' already"):
        register(replace(TESTS["measured"], name="pairs"))
    with pytest.raises(UserError, match="there is a selection 'balance' already"):
        register(replace(SELECTIONS["balance"], help="another"))
    register(replace(TESTS["measured"], help="said anew, by the same module"))
    assert TESTS["measured"].help == "said anew, by the same module"
    with pytest.raises(UserError, match="there is a test 'measured' already"):
        register(replace(TESTS["pairs"], name="measured"))
    with pytest.raises(UserError, match="is no Test, Selection, Trigger or Recipe"):
        register("measured")  # type: ignore[arg-type]


def test_stored_runs_know_the_source_of_the_rules_from_outside(tmp_path: Path) -> None:
    def key(method: str) -> str:
        return Cell.of(PROBLEM, method, {}, 2, range(5), 0, "rounds").key

    before = key("mine"), key("sharp")
    file = tmp_path / f"{outside.NAME}.py"
    file.write_text(file.read_text() + "\n# changed\n")
    linecache.checkcache()
    assert (key("mine") != before[0], key("sharp")) == (True, before[1])


def test_a_plugin_that_is_not_there_is_a_sentence_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setenv("BESTARM_PLUGINS", "nowhere_at_all")
    for _ in range(2):
        with pytest.raises(UserError, match="names 'nowhere_at_all', which can't be imported"):
            load_plugins()
    monkeypatch.setenv("BESTARM_PLUGINS", "/somewhere/json.py")
    with pytest.raises(UserError, match="another module json; rename the file"):
        list(METHODS)


def command(*words: str, folder: Path, plugins: str) -> str:
    """What the command prints in a process of its own that knows the plugin by the variable alone."""
    environment = os.environ | {"BESTARM_PLUGINS": plugins}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "bestarm", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SWEEP = """
runs = 30
agents = 3
engine = "rounds"
[[problem]]
means = [0.9, 0.4]
sigma = 0.3
[[method]]
name = "mine"
size = ["small", "large"]
"""


def test_commands_and_their_worker_processes_load_the_plugin(tmp_path: Path) -> None:
    file = f"{outside.NAME}.py"
    listed = json.loads(command("methods", "mine", "--format", "json", folder=tmp_path, plugins=file))
    assert [row["name"] for row in listed["method"]["parameters"]][-2:] == ["slack", "lead"]
    (tmp_path / "sweep.toml").write_text(SWEEP)
    words = ("sweep", "sweep.toml", "--out", "results.csv", "--jobs", "2")
    command(*words, folder=tmp_path, plugins=file)
    rows = (tmp_path / "results.csv").read_text().splitlines()
    assert len(rows) == 3
    quick = ("--means", "0.9,0.4", "--sigma", "0.3", "--runs", "8", "--agents", "2", "--engine", "rounds")
    printed = command(
        "compare", *quick, "--methods", "sharp,mine:size=large", "--jobs", "2", folder=tmp_path, plugins=file
    )
    assert "mine:size=large" in printed


SCRIPT = """
import bestarm
from bestarm.rules import METHODS, Kind, Recipe, SELECTIONS, Selection, one_arm, register

def last(pulls, view, reading, setting):
    return smallest(pulls)

def smallest(pulls):
    return int(pulls.argmin())

def defaults(problem, agents):
    "From a script, which no worker can import."
    return METHODS["ugapec"].defaults(problem, agents) | {"selection": "last"}

if __name__ == "__main__":
    register(Selection("last", "", last, one_arm), Recipe("script", Kind.ALONE, defaults, ""))
    problem = bestarm.Problem.quick([0.9, 0.4], sigma=0.3)
    for engine in ("rounds", "events"):
        one, two = (bestarm.simulate(problem, "script", 1, 12, engine=engine, jobs=jobs) for jobs in (1, 2))
        assert (one.samples == two.samples).all()
        swept = bestarm.sweep(problem, "script", agents=1, runs=12, engine=engine, jobs=2)
        assert (swept.results[0].samples == one.samples).all()
        print(engine, one.wrong)
"""


@pytest.mark.slow
def test_what_a_script_registers_is_known_to_its_workers_in_both_engines(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout.split()) == (0, ["rounds", "0", "events", "0"]), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mine", "mine-alone", "mine-together"])
def test_methods_pass_the_suite_compiled_too(name: str) -> None:
    check_method(name)


@pytest.mark.slow
def test_the_test_passes_the_suite() -> None:
    check_test("measured")
