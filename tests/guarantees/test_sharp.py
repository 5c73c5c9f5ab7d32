"""sharp is wrong with probability at most delta, on instances where being wrong is easy.

Every case assumes what `docs/guarantee.md` assumes: independent sub-Gaussian noise of the stated sigma, and
agents whose speed and absence do not depend on rewards not sent yet. A run that has not stopped within its
horizon is no error; the horizons are long enough for many runs to stop, which the tests check.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import bestarm
from bestarm.core.breaking import Reading, read
from bestarm.core.setting import Setting
from bestarm.core.state import Totals
from bestarm.core.stopping.pairs import pair_radius
from bestarm.simulation.schedule import Offline, Schedule

RUNS = 2_500
LEAVING = Schedule(
    (1.0, 3.0, 0.2, 1.0, 1.0), offline=(Offline(0, 40.0), Offline(1, 10.0, 200.0), Offline(3, 100.0))
)
UNEQUAL = Schedule((10.0, 1.0, 1.0, 0.1, 0.01))


def upper_limit(errors: int, runs: int) -> float:
    """The one-sided 99.9 % Clopper–Pearson limit of an error rate."""
    return float(beta.ppf(0.999, errors + 1, runs - errors)) if errors < runs else 1.0


def hard(name: str, delta: float) -> bestarm.Problem:
    """Instances on which wrong leaders are common for a long time, at sites that are alike."""
    return bestarm.Problem.from_dict(instance(name, delta).to_dict() | {"sites": "alike"})


def instance(name: str, delta: float) -> bestarm.Problem:
    """The same, with nothing said about the sites."""
    if name == "two":
        return bestarm.Problem.quick([0.5, 0.499], sigma=0.3, delta=delta)
    if name == "five":
        return bestarm.Problem.quick([0.5] + [0.48] * 4, sigma=0.3, delta=delta)
    if name == "parallel":
        angles = [0.0, 0.05, 0.1]
        features = [[math.cos(angle), math.sin(angle)] for angle in angles]
        return bestarm.Problem(["a", "b", "c"], features=features, theta=[0.5, 0.024], sigma=0.3, delta=delta)
    if name == "bernoulli":
        return bestarm.Problem(["a", "b", "c"], means=[0.3, 0.29, 0.29], sigma=0.5, delta=delta)
    return bestarm.Problem(["a", "b", "c"], means=[0.3, 0.29, 0.29], reward_range=(0.25, 0.35), delta=delta)


@cache
def errors(
    name: str, delta: float, schedule: Schedule | None, horizon: int, **parameters: Any
) -> bestarm.Result:
    agents = 5 if schedule is None else schedule.agents
    rewards = name if name in ("bernoulli", "bounded") else None
    return bestarm.simulate(
        hard(name, delta),
        "sharp",
        agents=agents,
        runs=RUNS,
        seed=11,
        schedule=schedule,
        rewards=rewards,
        max_samples=horizon,
        **parameters,
    )


CASES = [
    ("two", 0.05, None, 8_000),
    ("two", 0.3, None, 8_000),
    ("five", 0.05, None, 40_000),
    ("five", 0.3, None, 40_000),
    ("parallel", 0.05, None, 4_000),
    ("parallel", 0.3, None, 4_000),
    ("bernoulli", 0.3, None, 8_000),
    ("bounded", 0.3, None, 2_000),
    ("two", 0.3, UNEQUAL, 8_000),
    ("five", 0.3, UNEQUAL, 40_000),
    ("two", 0.3, LEAVING, 8_000),
    ("parallel", 0.3, LEAVING, 4_000),
]


@pytest.mark.parametrize(("name", "delta", "schedule", "horizon"), CASES)
def test_error_rate_stays_below_delta(name: str, delta: float, schedule: Schedule | None, horizon: int) -> None:
    result = errors(name, delta, schedule, horizon)
    assert upper_limit(result.wrong, RUNS) < delta


@pytest.mark.parametrize("thrift", ["samples", "messages"])
def test_the_dial_does_not_touch_the_guarantee(thrift: str) -> None:
    result = bestarm.simulate(
        hard("five", 0.3), "sharp", agents=5, runs=RUNS, seed=3, max_samples=8_000, thrift=thrift
    )
    assert upper_limit(result.wrong, RUNS) < 0.3


@pytest.mark.parametrize("planned", [1, 20])
def test_the_number_of_agents_planned_does_not_touch_the_guarantee(planned: int) -> None:
    problem = hard("five", 0.3)
    method = bestarm.method("sharp", problem, agents=planned)
    result = bestarm.simulate(
        problem, method, runs=RUNS, seed=4, schedule=Schedule.uniform(5), max_samples=8_000
    )
    assert upper_limit(result.wrong, RUNS) < 0.3


def test_a_minimal_batch_does_not_touch_the_guarantee() -> None:
    result = bestarm.simulate(
        hard("two", 0.3), "sharp", agents=5, runs=RUNS, seed=5, max_samples=8_000, min_batch=8
    )
    assert upper_limit(result.wrong, RUNS) < 0.3


def test_the_instances_are_hard() -> None:
    """The tests above could not fail on instances where nothing ever stops or nothing ever goes wrong."""
    two, five = errors("two", 0.3, None, 8_000), errors("five", 0.3, None, 40_000)
    assert two.wrong > 20
    assert five.runs - five.unfinished > 500


def halved_pairs(state: Totals, setting: Setting) -> Reading:
    """The pair test with the threshold's logarithm halved: a broken guarantee."""
    pulls, view = state.pulls, state.estimate
    leader = int(np.argmax(view.values))
    level = 0.5 * np.log((setting.arms - 1) / setting.delta)
    widths = np.zeros(setting.arms)
    for k in range(setting.arms):
        if k != leader:
            widths[k] = pair_radius(pulls[leader], pulls[k], level, setting.pseudo_count)
    return read(view.values, leader, widths, 0.0, setting.sigma, setting.epsilon)


def test_a_halved_logarithm_is_noticed() -> None:
    problem = hard("two", 0.05)
    method = bestarm.method("sharp", problem, agents=5)
    broken = replace(method, rules=method.rules._replace(read=halved_pairs))
    result = bestarm.simulate(problem, broken, runs=RUNS, seed=11, max_samples=8_000)
    assert upper_limit(result.wrong, RUNS) > 0.05
