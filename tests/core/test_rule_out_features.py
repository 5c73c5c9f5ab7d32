"""Rule-out for arms with features against direct computations, and what it must not depend on."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import bestarm
from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading
from bestarm.core.directions import DEFICIT, SPREAD, TOTAL, WEIGHT, collect, directions
from bestarm.core.fit import Fit, contrasts
from bestarm.core.setting import Setting
from bestarm.core.stopping.rule_out_features import rule_out_features
from bestarm.core.stopping.rule_out_span import rule_out_span
from bestarm.core.tally import Tally
from bestarm.methods import Method
from bestarm.methods.composed import batch_of
from bestarm.testing import check_test

TESTS = ["rule-out-span", "rule-out-features"]
ARMS, DIMENSION, RUNS = 8, 3, 2_000


def race(stopping: str, sigma: float | None = 0.3, epsilon: float = 0.0) -> Method:
    random = np.random.default_rng(3)
    features = random.normal(size=(ARMS, DIMENSION)) / 2
    problem = bestarm.Problem(
        [f"arm-{k}" for k in range(ARMS)], features=features, sigma=sigma, epsilon=epsilon, delta=0.05
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bestarm.ProblemWarning)
        return bestarm.method("sharp", problem, 3, stopping=stopping)


def tally(method: Method, plan: Any, rewards: list[Floats]) -> Tally:
    wide = 3 if method.squares else 2
    rows = {
        arm: [own.size, own.sum(), ((own - method.setting.centre) ** 2).sum()][:wide]
        for arm, own in zip(plan.arms, rewards, strict=True)
    }
    return Tally.from_rows(rows, ARMS)


def played(method: Method, batches: int, seed: int = 1) -> list[tuple[Any, list[Floats]]]:
    """Plans and rewards of a study in which the first arm is the best along the first feature."""
    random, state, found = np.random.default_rng(seed), method.begin(), []
    assert method.problem.features is not None
    means = method.problem.features @ np.array([0.5, 0.1, -0.1])
    for number in range(batches):
        plan = method.make(state)
        rewards = [random.normal(means[arm], 0.3, n) for arm, n in zip(plan.arms, plan.counts, strict=True)]
        state = method.fold(state, tally(method, plan, rewards), number % 3)
        found.append((plan, rewards))
    return found


@pytest.mark.parametrize("stopping", TESTS)
def test_the_suite(stopping: str) -> None:
    check_test(stopping)


@pytest.mark.parametrize("stopping", TESTS)
@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_what_is_common_to_a_batch_cancels(stopping: str, sigma: float | None, epsilon: float) -> None:
    """Offsets of any size, another one in every batch, change neither evidence nor plans."""
    method, random = race(stopping, sigma, epsilon), np.random.default_rng(2)
    plain, moved = method.begin(), method.begin()
    for number, (plan, rewards) in enumerate(played(method, 30)):
        offset = float(random.normal(0.0, 50.0))
        plain = method.fold(plain, tally(method, plan, rewards), number % 3)
        moved = method.fold(moved, tally(method, plan, [own + offset for own in rewards]), number % 3)
        assert np.allclose(moved.odds, plain.odds, rtol=1e-6, atol=1e-6)
        assert method.make(moved) == method.make(plain)
    assert method.read(plain).evidence > 0.3


@pytest.mark.parametrize("stopping", TESTS)
def test_information_and_score_are_those_of_dummy_variables(stopping: str) -> None:
    """Least squares with one unknown for each batch beside the features gives the same θ̂ and the same Ã⁻¹."""
    method = race(stopping)
    features, state = method.setting.features, method.begin()
    rows, rewards, studies = [], [], played(method, 12)
    for number, (plan, results) in enumerate(studies):
        state = method.fold(state, tally(method, plan, results), 0)
        for arm, own in zip(plan.arms, results, strict=True):
            for reward in own:
                rows.append(np.concatenate([features[arm], np.eye(len(studies))[number]]))
                rewards.append(reward)
    design, rank = np.array(rows), features.shape[1]
    solution = np.linalg.lstsq(design, np.array(rewards), rcond=None)[0][:rank]
    inverse = np.linalg.inv(design.T @ design)[:rank, :rank]
    assert np.allclose(np.linalg.solve(state.information, state.score), solution)
    assert np.allclose(state.estimate.inverse, inverse)
    differences = state.estimate.values - state.estimate.values[0]
    assert np.allclose(differences, (features - features[0]) @ solution)


def test_accounts_measure_what_they_say() -> None:
    """Without noise, Z is V y'θ less what the deficit says, for every account, whatever the batches were."""
    method, theta = race("rule-out-features", epsilon=0.05), np.array([0.3, -0.2, 0.1])
    features, random, state = method.setting.features, np.random.default_rng(5), method.begin()
    for _ in range(25):
        pulls = random.integers(0, 4, ARMS) * random.integers(0, 2, ARMS) + np.eye(ARMS, dtype=int)[0]
        exact = Tally.from_rows(
            {k: [int(n), float(n * (features[k] @ theta + 7.0))] for k, n in enumerate(pulls) if n}, ARMS
        )
        state = method.fold(state, exact, 0)
    assert state.opened > 1
    for row in range(1, state.opened):
        account = state.accounts[row]
        ways = directions(state, row, method.setting)
        assert np.allclose(account[TOTAL], account[WEIGHT] * (theta @ ways) - theta @ account[DEFICIT:])
        assert (account[SPREAD] >= 0).all()
        assert (account[WEIGHT] >= 0).all()


def test_an_account_has_the_spread_that_it_says() -> None:
    """The variance of Z over many draws of one batch's noise is σ²Q, and its mean is 0 where θ is 0."""
    method, random = race("rule-out-features", epsilon=0.05), np.random.default_rng(6)
    state = method.begin()
    for number, (plan, rewards) in enumerate(played(method, 20)):
        state = method.fold(state, tally(method, plan, rewards), number % 3)
    pulls = np.array([3, 0, 2, 1, 0, 4, 1, 2])
    arms = np.flatnonzero(pulls)
    before, found = state.accounts.copy(), []
    for _ in range(4000):
        sums = random.normal(0.0, 0.3 * np.sqrt(pulls[arms]))
        batch = batch_of(
            Tally.from_rows({int(k): [int(pulls[k]), s] for k, s in zip(arms, sums, strict=True)}, ARMS), 0
        )
        state.accounts[:] = before
        state.accounts[:, TOTAL:SPREAD] = 0.0
        spread = state.accounts[1, SPREAD].copy()
        collect(state, *contrasts(batch, method.setting.features), int(pulls.sum()), method.setting)
        found.append(state.accounts[1, TOTAL].copy())
    grown = state.accounts[1, SPREAD] - spread
    others = np.arange(ARMS) != state.leaders[1]
    ratio = np.var(found, axis=0)[others] / (0.09 * grown[others])
    assert (np.abs(ratio - 1.0) < 0.12).all()
    assert (np.abs(np.mean(found, axis=0))[others] < 5 * 0.3 * np.sqrt(grown[others] / 4000)).all()


@pytest.mark.parametrize("stopping", TESTS)
def test_a_batch_of_one_arm_tells_nothing(stopping: str) -> None:
    method = race(stopping)
    state = method.begin()
    for arm in range(ARMS):
        state = method.fold(state, Tally.from_rows({arm: [1000, 1000.0 * arm]}, ARMS), 0)
    assert not state.determined
    assert not state.information.any()
    assert method.read(state).evidence < 0.01
    assert len(method.make(state).arms) > 1


@pytest.mark.parametrize("stopping", TESTS)
def test_twins_do_not_keep_each_other_in_the_race(stopping: str) -> None:
    """Of two arms with the same features neither can be better, so one of them may be the answer."""
    features = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.4, 0.4]]
    problem = bestarm.Problem(list("abcd"), features=features, theta=[0.9, 0.1], sigma=0.1)
    result = bestarm.simulate(
        problem, "sharp", agents=3, runs=20, seed=1, stopping=stopping, max_samples=20_000
    )
    assert result.unfinished == 0
    assert result.wrong == 0


# Close calls: the best arm is better by a thousandth of sigma, and sites differ by up to ±3 sigma.
OFFSETS = (0.9, -0.9, 0.0, 0.5, -0.4)
HORIZON = 1_500


def close_call(delta: float, sigma: float | None = 0.3) -> bestarm.Problem:
    features = [[math.cos(angle), math.sin(angle)] for angle in (0.0, 0.6, 1.2, 2.0)]
    return bestarm.Problem(list("abcd"), features=features, theta=[0.0, 0.003], sigma=sigma, delta=delta)


def upper_limit(errors: int, runs: int) -> float:
    """The one-sided 99.9 % Clopper–Pearson limit of an error rate."""
    return float(beta.ppf(0.999, errors + 1, runs - errors)) if errors < runs else 1.0


@cache
def outcome(stopping: str, delta: float, sigma: float | None) -> bestarm.Result:
    return bestarm.simulate(
        close_call(delta, sigma),
        "sharp",
        agents=5,
        runs=RUNS,
        seed=11,
        noise=0.3,
        offsets=OFFSETS,
        max_samples=HORIZON,
        stopping=stopping,
    )


@pytest.mark.parametrize("stopping", TESTS)
@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("sigma", [0.3, None])
def test_error_rate_stays_below_delta(stopping: str, delta: float, sigma: float | None) -> None:
    assert upper_limit(outcome(stopping, delta, sigma).wrong, RUNS) < delta


def halved(state: Fit, setting: Setting) -> Reading:
    """Settled at half of the logarithm that is needed: a broken guarantee."""
    leader = state.reading.leader
    level, out = 0.5 * math.log(1.0 / setting.delta), 0
    for k in range(setting.arms):
        out += k != leader and state.odds[k] >= level
    return Reading(leader, state.reading.challenger, np.inf, 1.0 if out == setting.arms - 1 else 0.5)


@pytest.mark.parametrize("stopping", TESTS)
def test_a_halved_logarithm_is_noticed(stopping: str) -> None:
    problem = close_call(0.05)
    method = bestarm.method("sharp", problem, agents=5, stopping=stopping)
    assert method.rules.read in (rule_out_span, rule_out_features)
    broken = replace(method, rules=method.rules._replace(read=halved))
    result = bestarm.simulate(problem, broken, runs=RUNS, seed=11, max_samples=HORIZON)
    assert upper_limit(result.wrong, RUNS) > 0.05
