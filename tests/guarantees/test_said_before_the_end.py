"""What is said before the end is wrong no more often than it says: P(wrong, and the number ≤ α) ≤ α."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import bestarm
from bestarm.core.stopping.rule_out_features import ALL_AT_ONCE
from bestarm.core.tally import Tally
from bestarm.standing import Standing, standing

RUNS = 4_000


def measured(random: np.random.Generator, means: list[float], pulls: list[int]) -> Tally:
    """A batch of rewards with a standard normal noise."""
    counts = np.array(pulls)
    return Tally.of(pulls, (counts * means + np.sqrt(counts) * random.normal(size=counts.size)).tolist())


def test_few_pulls_of_a_bad_arm_do_not_make_it_nearly_the_best() -> None:
    """Two arms are equally good; a third, hardly tried, is worse than them by more than the tolerance."""
    random, means = np.random.default_rng(5), [0.0, 0.0, -3.01]
    problem = bestarm.Problem(["A", "B", "C"], sigma=1.0, epsilon=3.0, sites="differ")
    method = bestarm.method("sharp", problem, agents=2)
    wrong = 0
    for _ in range(RUNS):
        state = method.begin()
        for pulls in ([1, 1, 0], [12, 12, 0], [1, 1, 1]):
            state = method.fold(state, measured(random, means, pulls), 0)
        if np.argmax(state.estimate.values) == 2:
            said = standing(method, state).error
            wrong += said is not None and said <= 1e-3
    assert wrong <= binom.ppf(0.999, RUNS, 1e-3)


def test_with_a_tolerance_nobody_is_called_the_best() -> None:
    random, wrong, runs = np.random.default_rng(1), 0, 60
    problem = bestarm.Problem(["A", "B"], sigma=0.3, epsilon=0.1, sites="differ")
    method, scale = bestarm.method("sharp", problem, agents=2), 0.3
    for _ in range(runs):
        state = method.begin()
        while not method.judge(state).stopped:
            plan = method.make(state)
            pulls = [dict(zip(plan.arms, plan.counts, strict=True)).get(arm, 0) for arm in range(2)]
            batch = measured(random, [0.50 / scale, 0.48 / scale], pulls)
            state = method.fold(state, Tally.of(pulls, [scale * total for total in batch.reward_sums]), 0)
        said = standing(method, state)
        assert said.error is not None
        assert said.error <= 0.05
        wrong += str(said).startswith("B is the best, ")
        assert f"{said.leader} is the best or within 0.1 of it, except with probability at most" in str(said)
    assert wrong <= binom.ppf(0.999, runs, 0.05)
    assert str(Standing((), "A", 0.02, 20.0)) == "Nothing was measured yet."


@pytest.mark.parametrize("sigma", [0.3, None])
def test_what_odds_rest_on_is_added(sigma: float | None) -> None:
    """Accounts along features hold outside of one event, however high they are; its probability is said too."""
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    problem = bestarm.Problem(["A", "B", "C"], features=features, sigma=sigma, delta=0.2, sites="differ")
    method, pulls = bestarm.method("sharp", problem, agents=2), [40, 40, 40]
    assert method.test.name == "rule-out-features"
    state = method.begin()
    for _ in range(20):
        sums, squares = [20.0, 4.0, 17.0], [40 * (m * m + 0.01) for m in (0.5, 0.1, 0.425)]
        state = method.fold(state, Tally.of(pulls, sums, None if sigma else squares), 0)
    found = standing(method, state)
    assert found.error is not None
    bound = 0.0 if sigma else 0.05
    beside = bound + (1.0 - bound) * ALL_AT_ONCE
    assert found.error >= 0.2 * beside - 1e-12
    assert found.error == pytest.approx(0.2 * beside, abs=1e-4)


def test_nothing_is_said_before_the_first_batch() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    problem = bestarm.Problem(["A", "B", "C"], features=features, sites="differ")
    method = bestarm.method("sharp", problem, agents=2)
    assert standing(method, method.begin()).error == 1.0
    assert math.isclose(standing(method, method.begin()).needed, 1.0 / (0.95 * 0.05))


@pytest.mark.parametrize("sites", ["differ", "alike"])
def test_rewards_that_only_repeat_themselves_are_explained(sites: str) -> None:
    """Nothing is known of how they scatter, so nobody is ruled out; whoever waits for an end is told why."""
    method = bestarm.method("sharp", bestarm.Problem(["A", "B"], sites=sites), agents=1)
    told = [standing(method, state) for state in repeated(method, [0.5, 0.25])]
    assert "more can't be said" in str(told[0])
    assert "always the same" in str(told[-1])
    varied = list(repeated(method, [0.5, 0.25], 1e-3))
    assert "always the same" not in str(standing(method, varied[-1]))
    known = bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=5.0, sites=sites), agents=1)
    assert "more can't be said" in str(standing(known, list(repeated(known, [0.5, 0.25]))[-1]))


def repeated(method: bestarm.Method, rewards: list[float], more: float = 0.0) -> Iterator[Any]:
    """The states after batches in which an arm always gives the same, or once something more."""
    state = method.begin()
    for _ in range(4):
        squares = [3 * reward**2 + (reward + more) ** 2 for reward in rewards]
        state = method.fold(state, Tally.of([4, 4], [4 * r + more for r in rewards], squares), 0)
        yield state
