"""`bestarm.compare`: several methods in several worlds, and what became of the promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bestarm
from bestarm.comparison.worlds import WORLDS, NamedWorld
from bestarm.methods import Method
from bestarm.simulation.world import World

PROBLEM = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)


def mine(problem: bestarm.Problem, agents: int) -> Method:
    return bestarm.method("famabpe", problem, agents, gamma=0.1)


def test_names_methods_and_functions(tmp_path: Path) -> None:
    built = bestarm.method("sharp", PROBLEM, 2)
    found = bestarm.compare(PROBLEM, [built, "sharp:thrift=messages", mine], agents=2, runs=3, engine="rounds")
    assert [row["method"] for row in found.rows] == ["sharp", "sharp:thrift=messages", "mine"]
    alone = bestarm.simulate(PROBLEM, "sharp:thrift=messages", agents=2, runs=3, engine="rounds")
    assert found.results[1].samples.tolist() == alone.samples.tolist()
    assert len(found.to_pandas()) == 3
    head, *lines = str(found).splitlines()
    assert head.split() == ["world", "method", "samples", "messages", "wrong", "promise"]
    assert {line[head.index("method") : head.index("samples")].strip() for line in lines} == {
        *("sharp", "sharp:thrift=messages", "mine")
    }
    found.plot(tmp_path / "field.png")
    assert (tmp_path / "field.png").stat().st_size > 1000


def test_methods_of_one_name_are_told_apart_by_their_settings() -> None:
    gammas = [bestarm.method("famabpe", PROBLEM, 2, gamma=gamma) for gamma in (0.1, 0.3)]
    found = bestarm.compare(PROBLEM, gammas, agents=2, runs=2, engine="rounds")
    assert [row["method"] for row in found.rows] == ["famabpe:gamma=0.1", "famabpe:gamma=0.3"]
    renamed = [replace(one, name=name) for one, name in zip(gammas, ("slow", "fast"), strict=True)]
    found = bestarm.compare(PROBLEM, renamed, agents=2, runs=2, engine="rounds")
    assert [row["method"] for row in found.rows] == ["slow", "fast"]
    makers = [lambda problem, agents: gammas[0], lambda problem, agents: gammas[1]]
    with pytest.raises(bestarm.UserError, match="two methods are called <lambda>; give each its own name"):
        bestarm.compare(PROBLEM, makers, agents=2, runs=2, engine="rounds")


def test_plates_are_for_those_at_their_own_pace() -> None:
    fixed: dict[str, Any] = {"agents": 2, "runs": 3, "engine": "rounds"}
    found = bestarm.compare(PROBLEM, ["sharp", "lucb"], plate=8, **fixed)
    alone = bestarm.simulate(PROBLEM, "sharp", plate=8, **fixed)
    assert found.results[0].samples.tolist() == alone.samples.tolist()


def test_who_fits_nowhere_is_an_error() -> None:
    with pytest.raises(bestarm.UserError, match=r"method is 'shrap'.*Did you mean sharp"):
        bestarm.compare(["stairs", "rival"], ["sharp", "shrap"], runs=2, engine="rounds")


def test_in_several_worlds_who_does_not_fit_is_left_out() -> None:
    found = bestarm.compare(["no-sigma", "offsets"], ["uniform"], agents=2, runs=2, engine="rounds")
    assert [(row["world"], row["promised"]) for row in found.rows] == [("offsets", False)]
    ((world, label, why),) = found.left_out
    assert (world, label) == ("no-sigma", "uniform")
    assert "needs sigma" in why
    assert str(found).splitlines()[-1] == f"uniform is not in no-sigma: {why}"


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_has_a_truth_and_one_best_arm(name: str) -> None:
    problem = WORLDS[name].problem
    assert problem.means is not None
    assert (problem.means == problem.means.max()).sum() == 1


def test_who_claims_what() -> None:
    for name, promised in (("stairs", True), ("offsets", False), ("sigma-half", False), ("sigma-double", True)):
        assert WORLDS[name].promised(bestarm.method("eb-tci", WORLDS[name].problem)) is promised
    for name in ("stairs", "offsets", "drift", "interactions", "no-sigma", "rates-2"):
        assert WORLDS[name].promised(bestarm.method("sharp", WORLDS[name].problem))


def test_a_sentence_for_what_is_wrong() -> None:
    with pytest.raises(bestarm.UserError, match="there is no world 'nowhere'"):
        bestarm.compare("nowhere")
    with pytest.raises(bestarm.UserError, match=r"there is no world \{'stairs'\}"):
        bestarm.compare({"stairs"})  # type: ignore[arg-type]
    with pytest.raises(bestarm.UserError, match="sharp is there twice"):
        bestarm.compare(PROBLEM, ["sharp", "sharp"])
    with pytest.raises(bestarm.UserError, match="can't be given with the name of a world"):
        bestarm.compare("stairs", "sharp", noise=0.3)
    with pytest.raises(bestarm.UserError, match=r"compare has no argument 'gamma'; .* after colons"):
        bestarm.compare(PROBLEM, "famabpe", gamma=0.3)
    with pytest.raises(bestarm.UserError, match="two worlds are called stairs"):
        bestarm.compare(["stairs", "rival", "stairs"], "sharp")


TOLD: dict[str, Any] = {"means": [0.5, 0.3], "sigma": 0.3, "sites": "alike"}
MEASURED: dict[str, Any] = {"means": [0.5, 0.3]}
YES_NO: dict[str, Any] = {"means": [0.5, 0.3], "rewards": "yes-no"}
PLANE: dict[str, Any] = {"features": [[1, 0], [0, 1], [1, 1]], "theta": [0.5, 0.1]}


@pytest.mark.parametrize(
    ("said", "world", "method", "against"),
    [
        (TOLD, {"noise": 0.3}, "sharp", ""),
        (TOLD, {"noise": 0.4}, "sharp", "further than the sigma"),
        (TOLD, {"noise": [0.3, 0.4]}, "lucb", "further than the sigma"),
        (TOLD, {"item_effects": 0.2}, "sharp", "further than the sigma"),
        (TOLD, {"rewards": "yes-no"}, "sharp", "further than the sigma"),
        (TOLD | {"sigma": 0.5}, {"rewards": "yes-no"}, "sharp", ""),
        (TOLD, {"rewards": "heavy"}, "sharp", "further than the sigma"),
        (TOLD, {"table": {"arm-1": [0, 1], "arm-2": [0, 0.5]}}, "sharp", "further than the sigma"),
        (TOLD | {"sigma": 0.5}, {"table": {"arm-1": [0, 1], "arm-2": [0, 0.5]}}, "sharp", ""),
        (MEASURED, {"noise": 0.3}, "sharp", ""),
        (MEASURED, {"noise": [0.3, 0.1]}, "sharp", "one sigma for all arms"),
        (MEASURED, {"rewards": "heavy", "noise": 0.3}, "sharp", "about normal"),
        (MEASURED, {"rewards": "yes-no"}, "sharp", "about normal"),
        (MEASURED, {"noise": 0.3, "drift": 0.5, "offsets": [0, 1], "interactions": 0.1}, "sharp", ""),
        (TOLD, {"offsets": [0, 0]}, "lucb", ""),
        (TOLD, {"offsets": [0, 1]}, "lucb", "the same at every site"),
        (MEASURED, {"noise": 0.3, "interactions": [[0, 0.1], [0, 0.3]]}, "sharp", "no arm is the best"),
        (MEASURED, {"noise": 0.3, "interactions": [[0, 0.1], [0, 0.15]]}, "sharp", ""),
        (YES_NO, {"offsets": [0, 1]}, "sharp", ""),
        (YES_NO, {"rewards": "gaussian", "noise": 0.1}, "sharp", "do not keep to what it is told"),
        (PLANE, {"noise": 0.3, "offsets": [0, 1]}, "sharp", ""),
        (PLANE, {"noise": 0.3, "interactions": 0.05}, "sharp", "not linear"),
        (TOLD, {}, "halving", "no proof"),
    ],
)
def test_nothing_is_promised_where_the_world_is_not_as_a_proof_needs_it(
    said: dict[str, Any], world: dict[str, Any], method: str, against: str
) -> None:
    count = len(said["means"] if "means" in said else said["features"])
    problem = bestarm.Problem([f"arm-{k}" for k in range(1, count + 1)], **said)
    if "table" in world:
        problem = replace_means(problem)
    here = NamedWorld("here", "", problem, World(**world))
    built = bestarm.method(method, problem, 2)
    assert against in here.against(built)
    assert here.promised(built) is (against == "")


def replace_means(problem: bestarm.Problem) -> bestarm.Problem:
    """A table brings its own."""
    return bestarm.Problem(list(problem.arms), sigma=problem.sigma, sites=problem.sites)
