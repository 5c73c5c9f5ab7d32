"""Intervals: they hold, they are those of the method's own test, and a test without any shows none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from outside import forgotten
from uploads import small_problem

import bestarm
from bestarm.core.breaking import Reading
from bestarm.core.tally import Tally
from bestarm.intervals import Interval, intervals
from bestarm.methods import TESTS, register
from bestarm.problem import Problem

PROBLEM = small_problem()
LINEAR = Problem(
    [f"arm-{k}" for k in range(6)],
    features=np.random.default_rng(1).normal(size=(6, 3)) / 4,
    theta=[0.5, -0.4, 0.3],
    sigma=0.3,
    name="linear",
)
FULL = Tally.of([5, 9, 2], [4.0, 7.5, 1.0])


def radii(method: bestarm.Method, tally: Tally) -> Any:
    found = method.radii(method.begin(tally))
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["sharp", "famabpe", "ugapec"])
def test_intervals_hold_all_the_time(name: str) -> None:
    """Seeded paths of a bandit: the share of paths on which any interval ever misses is below delta."""
    method = bestarm.method(name, PROBLEM, 4)
    generator = np.random.default_rng(7)
    assert PROBLEM.means is not None
    paths, missed = 150, 0
    for _ in range(paths):
        state, wrong = method.begin(), False
        for _ in range(25):
            counts = generator.integers(1, 5, size=3)
            sums = generator.normal(PROBLEM.means * counts, PROBLEM.sigma * np.sqrt(counts))
            state = method.fold(state, Tally.of(counts.tolist(), sums.tolist()), 0)
            found = intervals(method, state)
            wrong |= any(
                row.low is None or row.high is None or not row.low <= mean <= row.high
                for row, mean in zip(found, PROBLEM.means, strict=True)
            )
        missed += wrong
    assert missed / paths <= PROBLEM.delta


@pytest.mark.parametrize(("delta", "fewest"), [(0.05, 0), (0.5, 1)])
def test_the_truth_stays_within_the_intervals_of_sharp_and_not_by_far(delta: float, fewest: int) -> None:
    """At every one of 300 pulls of three arms at once, in all but a share delta of the runs."""
    runs, arms, pulls = 400, 3, 300
    method = bestarm.method("sharp", bestarm.Problem(["A", "B", "C"], sigma=0.5, delta=delta, sites="alike"), 1)
    noise = np.random.default_rng(0).normal(0.0, 0.5, size=(runs, pulls, arms))
    estimates = noise.cumsum(axis=1) / np.arange(1, pulls + 1)[:, None]
    widths = [radii(method, Tally.of([n] * arms, [0.0] * arms)) for n in range(1, pulls + 1)]
    missed = (np.abs(estimates) > np.array(widths)).any(axis=(1, 2)).sum()
    assert fewest <= missed <= delta * runs


@pytest.mark.parametrize(
    ("name", "changes"), [("sharp", {"stopping": "span"}), ("falinpe", {}), ("lingape", {})]
)
def test_a_linear_interval_is_the_gap_to_an_arm_without_features(name: str, changes: dict[str, Any]) -> None:
    method = bestarm.method(name, LINEAR, 2, **changes)
    tally = Tally.of(list(range(3, 9)), np.linspace(-1, 2, 6).tolist())
    state = method.begin(tally)
    reading, values, widths = method.read(state), state.estimate.values, radii(method, tally)
    radius = reading.breaking_index + values[reading.leader] - values[reading.challenger]
    # The triangle inequality of the method's own norm: a gap is known at least as well as its two arms.
    assert radius <= widths[reading.leader] + widths[reading.challenger] + 1e-9
    assert radius >= abs(widths[reading.leader] - widths[reading.challenger]) - 1e-9
    assert (widths > 0).all()


def test_famabpe_intervals_add_up_to_its_gap() -> None:
    method = bestarm.method("famabpe", PROBLEM, 4)
    state = method.begin(FULL)
    reading, values, widths = method.read(state), state.estimate.values, radii(method, FULL)
    radius = reading.breaking_index + values[reading.leader] - values[reading.challenger]
    assert radius == pytest.approx(widths[reading.leader] + widths[reading.challenger], rel=1e-12)


def wrapped(read: Callable[..., Reading]) -> Callable[..., Reading]:
    def around(state: Any, setting: Any) -> Reading:
        return read(state, setting)

    return around


@pytest.mark.parametrize("name", ["pairs", "famabpe", "ugapec"])
def test_a_test_in_another_function_or_under_another_name_shows_the_same_intervals(name: str) -> None:
    """Version 0.1 knew the pair test by its function, and showed a third of the width for any other one."""
    original = bestarm.method("sharp", PROBLEM, 4, stopping=name)
    expected = intervals(original, FULL)
    assert all(row.low is not None for row in expected)
    inside = replace(original, rules=original.rules._replace(read=wrapped(original.rules.read)))
    assert intervals(inside, FULL) == expected
    with forgotten():
        register(replace(TESTS[name], name="another", read=wrapped(TESTS[name].read)))
        assert intervals(bestarm.method("sharp", PROBLEM, 4, stopping="another"), FULL) == expected


def test_before_every_arm_was_pulled_there_are_means_only() -> None:
    method = bestarm.method("sharp", PROBLEM, 4)
    found = intervals(method, Tally.of([2, 0, 1], [1.0, 0.0, 0.25]))
    assert found == [Interval(0.5), Interval(), Interval(0.25)]
    assert intervals(method, method.begin()) == [Interval()] * 3


def test_a_test_that_knows_more_early_says_it_and_what_is_endless_is_left_out() -> None:
    with forgotten():
        early = replace(
            TESTS["pairs"],
            name="early",
            every_arm=False,
            radii=lambda state, setting: np.where(state.pulls > 1, 0.25, np.inf),
        )
        register(early, replace(early, name="none", radii=None))
        tally = Tally.of([2, 0, 1], [1.0, 0.0, 0.25])
        found = intervals(bestarm.method("sharp", PROBLEM, 4, stopping="early"), tally)
        assert found == [Interval(0.5, 0.25, 0.75), Interval(), Interval(0.25)]
        found = intervals(bestarm.method("sharp", PROBLEM, 4, stopping="none"), FULL)
        assert found == [Interval(mean) for mean in (0.8, 7.5 / 9, 0.5)]


def test_no_interval_leaves_the_reward_range_but_for_its_own_mean() -> None:
    ranged = Problem(["A", "B"], reward_range=(0.0, 1.0), sites="alike")
    method = bestarm.method("sharp", ranged, 2, stopping="pairs")
    first, second = intervals(method, Tally.of([3, 3], [3.0, 0.6]))
    assert first.high == 1.0
    assert second.low == 0.0
