"""`bestarm.compare`: several methods in several worlds, and what became of the promise."""

from __future__ import annotations

from pathlib import Path

import pytest

import bestarm
from bestarm.comparison.worlds import WORLDS
from bestarm.methods import Method

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
    with pytest.raises(bestarm.UserError, match="sharp is there twice"):
        bestarm.compare(PROBLEM, ["sharp", "sharp"])
    with pytest.raises(bestarm.UserError, match="can't be given with the name of a world"):
        bestarm.compare("stairs", "sharp", noise=0.3)
