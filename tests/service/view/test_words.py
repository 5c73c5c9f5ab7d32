"""The pure parts of the service: intervals, promises, thinning, what remains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from uploads import small_problem

import bestarm
from bestarm.core.tally import Tally
from bestarm.problem import Problem
from bestarm.service.storage.studies import build
from bestarm.service.view.interval import estimates, radii_of
from bestarm.service.view.promise import promise
from bestarm.service.view.status import thinned

PROBLEM = small_problem()
LINEAR = Problem(
    [f"arm-{k}" for k in range(6)],
    features=np.random.default_rng(1).normal(size=(6, 3)) / 4,
    theta=[0.5, -0.4, 0.3],
    sigma=0.3,
    name="linear",
)


@pytest.mark.parametrize("name", ["sharp", "famabpe", "ugapec"])
def test_intervals_hold_all_the_time(name: str) -> None:
    """Seeded paths of a bandit: the share of paths on which any interval ever misses is below delta."""
    method = bestarm.method(name, PROBLEM, 4)
    generator = np.random.default_rng(7)
    assert PROBLEM.means is not None
    paths, missed = 150, 0
    for _ in range(paths):
        tally, wrong = Tally.empty(3), False
        for _ in range(25):
            counts = generator.integers(1, 5, size=3)
            sums = generator.normal(PROBLEM.means * counts, PROBLEM.sigma * np.sqrt(counts))
            tally = tally + Tally(counts, sums)
            radii = radii_of(method, tally)
            wrong |= bool((np.abs(tally.reward_sums / tally.pulls - PROBLEM.means) > radii).any())
        missed += wrong
    assert missed / paths <= PROBLEM.delta


@pytest.mark.parametrize("name", ["sharp", "falinpe", "lingape"])
def test_a_linear_interval_is_the_gap_to_an_arm_without_features(name: str) -> None:
    method = bestarm.method(name, LINEAR, 2)
    tally = Tally(np.arange(3, 9), np.linspace(-1, 2, 6))
    view, reading = method.read(tally)
    radii = radii_of(method, tally)
    radius = reading.breaking_index + view.values[reading.leader] - view.values[reading.challenger]
    # The triangle inequality of the method's own norm: a gap is known at least as well as its two arms.
    assert radius <= radii[reading.leader] + radii[reading.challenger] + 1e-9
    assert radius >= abs(radii[reading.leader] - radii[reading.challenger]) - 1e-9
    assert (radii > 0).all()


def test_famabpe_intervals_add_up_to_its_gap() -> None:
    method = bestarm.method("famabpe", PROBLEM, 4)
    tally = Tally.of([5, 9, 2], [4.0, 7.5, 1.0])
    view, reading = method.read(tally)
    radii = radii_of(method, tally)
    radius = reading.breaking_index + view.values[reading.leader] - view.values[reading.challenger]
    assert radius == pytest.approx(radii[reading.leader] + radii[reading.challenger], rel=1e-12)


def test_estimates_before_every_arm_was_pulled() -> None:
    method = bestarm.method("sharp", PROBLEM, 4)
    assert estimates(method, Tally.of([2, 0, 1], [1.0, 0.0, 0.25])) == [
        (0.5, None, None),
        None,
        (0.25, None, None),
    ]


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


def test_a_promise_that_does_not_hold_says_so() -> None:
    long = Problem(["A", "B"], features=[[3, 0], [0, 1]], sigma=0.3, epsilon=0.1, name="long")
    said = promise(build(long, "falinpe", 10, {}))
    assert "length 3, so the promise does not hold" in said
    assert "or within 0.1 of it" in said
    assert math.isclose(long.longest_feature, 3)
