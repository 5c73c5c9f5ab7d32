"""A test is not run on a problem that its proof says nothing about, and nobody calls it promised there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import bestarm
from bestarm.comparison.advice import advise
from bestarm.comparison.worlds import NamedWorld
from bestarm.core.rules import Test
from bestarm.methods import TESTS
from bestarm.methods.needs import unmet
from bestarm.problem import Problem

NORMAL: dict[str, Any] = {"sigma": 0.3}
MEASURED: dict[str, Any] = {}
CHECKED: dict[str, Any] = {"sigma": 0.3, "reward_range": [0, 1]}  # a range that only tells typing mistakes
BOUNDED: dict[str, Any] = {"reward_range": [0, 1]}
YES_NO: dict[str, Any] = {"rewards": "yes-no"}
ITEMS: dict[str, Any] = {"items": True}


def problem_of(**said: Any) -> Problem:
    return Problem(["A", "B", "C"], **said)


@pytest.mark.parametrize("sites", ["alike", "differ"])
@pytest.mark.parametrize("said", [NORMAL, MEASURED, CHECKED])
@pytest.mark.parametrize("stopping", ["two-by-two", "betting"])
def test_tests_of_a_range_are_refused_without_one(stopping: str, said: dict[str, Any], sites: str) -> None:
    with pytest.raises(
        bestarm.UserError, match=f"{stopping} is for rewards between two known numbers; set rew"
    ):
        bestarm.method("sharp", problem_of(**said, sites=sites), stopping=stopping)


@pytest.mark.parametrize("said", [BOUNDED, YES_NO])
@pytest.mark.parametrize("stopping", ["two-by-two", "betting", "rule-out", "pairs"])
def test_they_are_taken_with_one(stopping: str, said: dict[str, Any]) -> None:
    problem = problem_of(**said, sites="alike")
    assert unmet(TESTS[stopping], problem) is None
    assert bestarm.method("sharp", problem, stopping=stopping).proven


@pytest.mark.parametrize("said", [BOUNDED, YES_NO])
def test_normal_differences_on_items_are_not_those_of_a_range(said: dict[str, Any]) -> None:
    with pytest.raises(bestarm.UserError, match="noise is about normal; set stopping to betting"):
        bestarm.method("sharp", problem_of(**said, **ITEMS), stopping="items")
    assert bestarm.method("sharp", problem_of(**said, **ITEMS)).test.name == "betting"


@pytest.mark.parametrize("said", [NORMAL, BOUNDED])
@pytest.mark.parametrize("name", ["kl-lucb", "uniform:stopping=chernoff-yes-no"])
def test_yes_no_tests_are_for_yes_and_no(name: str, said: dict[str, Any]) -> None:
    with pytest.raises(bestarm.UserError, match="is for yes/no outcomes"):
        bestarm.compare(problem_of(**said, means=[0.5, 0.4, 0.3]), name, runs=1)


def every_problem() -> list[Problem]:
    said = (NORMAL, MEASURED, CHECKED, BOUNDED, YES_NO)
    return [problem_of(**one, **more) for one in said for more in ({}, ITEMS)]


@pytest.mark.parametrize("test", TESTS.values(), ids=lambda test: test.name)
def test_what_is_built_has_what_its_proof_needs(test: Test) -> None:
    """Of every stopping test of every method: either a sentence says why not, or nothing is missing."""
    for problem in every_problem():
        try:
            built = bestarm.method("sharp", problem, stopping=test.name)
        except bestarm.UserError:
            continue
        assert unmet(built.test, problem) is None
        assert NamedWorld("here", "", problem).promised(built) is built.proven


def test_nobody_promises_where_a_proof_does_not_reach() -> None:
    """Not even for a method that was put together by hand."""
    tables = bestarm.method("sharp", problem_of(**YES_NO))
    normal = problem_of(**NORMAL)
    assert not NamedWorld("here", "", normal).promised(replace(tables, problem=normal))


def test_features_that_are_too_long_void_the_promise_of_those_who_need_short_ones() -> None:
    features = [[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
    problem = problem_of(**NORMAL, sites="alike", features=features)
    with pytest.warns(bestarm.ProblemWarning, match="at most 1"):
        built = bestarm.method("falinpe", problem)
    assert not NamedWorld("here", "", problem).promised(built)
    against = {one.name: one.against for one in advise(problem)}
    assert against["falinpe"] == "it needs features of length at most 1"
    assert against["sharp"] == ""
