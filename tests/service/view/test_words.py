"""The pure parts of the service: promises, thinning, what remains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from uploads import small_problem

import bestarm
from bestarm.errors import UserError
from bestarm.methods import TESTS
from bestarm.problem import Problem
from bestarm.service.storage.rows.studies import build
from bestarm.service.view.said.promise import promise, rests_on
from bestarm.service.view.status import thinned

PROBLEM = small_problem()
LINEAR = Problem(
    [f"arm-{k}" for k in range(6)],
    features=np.random.default_rng(1).normal(size=(6, 3)) / 4,
    theta=[0.5, -0.4, 0.3],
    sigma=0.3,
    name="linear",
)


@pytest.mark.parametrize("length", [0, 1, 2, 499, 500, 501, 10_000])
@pytest.mark.parametrize("keep", [None, 1, 2, 400, 501])
def test_thinning_keeps_the_ends_and_the_stop(length: int, keep: int | None) -> None:
    if keep is not None and keep > length:
        keep = None
    chosen = thinned(length, keep)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= 500
    assert len(chosen) >= min(length, 490)
    if length:
        assert (chosen[0], chosen[-1]) == (0, length - 1)
    if keep is not None:
        assert keep - 1 in chosen


@pytest.mark.parametrize(
    ("problem", "name", "parts"),
    [
        (PROBLEM, "sharp", ["is the best one, except with probability at most 0.05", "is not a part of it"]),
        (PROBLEM, "famabpe", ["is a part of it: the stopping rule counts on at most 10", "scale at most 0.3"]),
        (LINEAR, "sharp", ["linear function", "is not a part of it"]),
        (LINEAR, "falinpe", ["length at most 1", "is a part of it"]),
    ],
)
def test_a_promise_says_what_it_rests_on(problem: Problem, name: str, parts: list[str]) -> None:
    said = promise(bestarm.method(name, problem, 10))
    for part in parts:
        assert part in said
    assert "does not hold" not in said


@pytest.mark.parametrize("name", list(TESTS))
def test_every_test_says_what_it_does(name: str) -> None:
    assert TESTS[name].how
    assert not TESTS[name].how.endswith(".")


@pytest.mark.parametrize(
    ("problem", "parts"),
    [
        (Problem(["A", "B"]), ["The test rule-out compares arms inside batches;", "which is measured"]),
        (Problem(["A", "B"], sigma=0.3), ["The test rule-out", "scale at most 0.3"]),
        (Problem(["A", "B"], rewards="yes-no"), ["The test two-by-two", "rewards are 0 or 1"]),
        (Problem(["A", "B"], sites="alike"), ["The test pairs", "the same at every site and all the time"]),
        (Problem(["A", "B"], reward_range=[0, 1]), ["The test betting", "rewards lie between 0 and 1"]),
    ],
)
def test_one_sentence_says_which_test_was_chosen_and_what_is_assumed(
    problem: Problem, parts: list[str]
) -> None:
    method = bestarm.method("sharp", problem, 10)
    said = rests_on(method)
    for part in parts:
        assert part in said
    assert said.count(". ") == 0
    assert said.endswith(".")
    assert said in promise(method).splitlines()


def test_a_method_of_the_paper_says_that_it_needs_sigma() -> None:
    with pytest.raises(UserError) as error:
        bestarm.method("famabpe", Problem(["A", "B"], name="pair"), 10)
    expected = "famabpe needs sigma, and problem 'pair' has none: give sigma = …, or take sharp."
    assert str(error.value) == expected


def test_a_promise_that_does_not_hold_says_so() -> None:
    long = Problem(["A", "B"], features=[[3, 0], [0, 1]], sigma=0.3, epsilon=0.1, name="long")
    said = promise(build(long, "falinpe", 10, {}))
    assert "length 3, so the promise does not hold" in said
    assert "or within 0.1 of it" in said
    assert math.isclose(long.longest_feature, 3)
