"""Numbers at the edge of what can be computed: a right answer, an undecided run or a sentence, never a hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import Problem, UserError, method, simulate
from bestarm.core.breaking import Reading
from bestarm.core.trigger.count import count
from bestarm.core.trigger.determinant import exceed
from bestarm.simulation.outcome import is_wrong

EQUAL = Problem.quick([0.5, 0.5], sigma=0.3)
LINEAR = Problem(["A", "B"], features=[[1.0, 0.0], [0.6, 0.8]], theta=[0.5, 0.1], sigma=0.3)


def wide(sigma: float) -> Problem:
    """Three arms in eight dimensions, gap 2 sigma: V has five directions in which it is λ, and λ ∝ sigma²."""
    features = np.random.default_rng(1).standard_normal((3, 8))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = np.linalg.lstsq(features, np.array([0.0, -2.0, -2.0]) * sigma, rcond=None)[0]
    return Problem(["A", "B", "C"], features=features, theta=theta, sigma=sigma, delta=0.2)


@pytest.mark.parametrize("selection", ["ratio", "greedy"])
def test_features_that_do_not_span_their_space_need_no_digits(selection: str) -> None:
    """In another unit the bound grows with the logarithm of 1/λ; with the given coordinates it did not end."""
    results = [
        simulate(wide(sigma), "falinpe", agents=10, runs=20, seed=6, engine="rounds", selection=selection)
        for sigma in (1e-5, 1e-8)
    ]
    assert [result.wrong for result in results] == [0, 0]
    assert 1.2 < results[1].samples.mean() / results[0].samples.mean() < 1.6
    logs = [np.log(1 / method("falinpe", wide(sigma), agents=10).setting.regulariser) for sigma in (1e-5, 1e-8)]
    assert logs[1] > logs[0] > 0


def test_the_number_of_given_dimensions_stays_in_the_bound() -> None:
    setting = method("falinpe", wide(1e-3), agents=10).setting
    assert (setting.features.shape, setting.dimension) == ((3, 3), 8)


@pytest.mark.parametrize("gamma", [0.01, 1 / 3, 99.123457, 812.345678, 1000.0, 1e-12])
@pytest.mark.parametrize("samples", [3, 10**6 + 7, 10**12 - 1])
def test_the_count_trigger_is_exact_and_does_not_overflow(gamma: float, samples: int) -> None:
    built = method("famabpe", EQUAL, agents=3, gamma=gamma)
    exact = Fraction(built.setting.gamma_over, built.setting.gamma_under)
    view = built.begin(bestarm.Tally.of([samples - 1, 1], [0.0, 0.0])).estimate
    wanted = int(samples * exact) + 1
    as_compiled: Any = np.int64(samples)
    in_64_bits = view._replace(samples=as_compiled)
    assert int(count(in_64_bits, Reading(0, 1, 0.0, 0.0), 0, built.setting)) == wanted


@pytest.mark.parametrize(
    ("name", "problem", "parameters"),
    [
        ("famabpe", EQUAL, {"gamma": 99.123457}),
        ("famabpe", EQUAL, {"gamma": 1000.0}),
        ("falinpe", LINEAR, {"gamma1": 1e20}),
        ("falinpe", LINEAR, {"gamma1": 1e20, "gamma2": 999.0}),
    ],
)
def test_large_triggers_end(name: str, problem: Problem, parameters: dict[str, Any]) -> None:
    result = simulate(problem, name, agents=3, runs=2, max_samples=10**6, **parameters)
    assert (result.samples > 0).all()


def test_exceed_is_the_smallest() -> None:
    for step, level in ((0.3, 1.0), (1e-9, 1.0), (2.0, 1.0), (0.1, 0.3)):
        n = exceed(step, level)
        assert n * step > level
        assert n == 1 or (n - 1) * step <= level


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sharp", {"min_batch": 10**19}),
        ("sync-ugapec", {"period": 10**18}),
        ("famabpe", {"gamma": 1001.0}),
        ("sharp", {"gamma": float("nan")}),
        ("sharp", {"gamma": "hello"}),
    ],
)
def test_parameters_that_can_not_be_meant_are_refused(name: str, parameters: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"{next(iter(parameters))} is"):
        method(name, EQUAL, agents=2, **parameters)  # type: ignore[arg-type]


def test_a_table_of_designs_that_is_too_large_is_refused() -> None:
    features = np.random.default_rng(0).standard_normal((3000, 5))
    problem = Problem([f"a{k}" for k in range(3000)], features=features, sigma=0.3, normalise=True)
    with pytest.raises(UserError, match=r"set selection to .*greedy"):
        method("falinpe", problem, agents=2)


def test_rewards_far_from_zero_are_refused() -> None:
    """Sums of rewards 1e15 sigma away from 0 round away the noise, and with it the guarantee."""
    with pytest.raises(UserError, match="sigma away from 0; subtract a constant"):
        Problem.quick([1e15 - 1, 1e15], sigma=1.0)
    with pytest.raises(UserError, match="subtract a constant"):
        Problem(["A", "B"], reward_range=[1e15, 1e15 + 2])
    with pytest.raises(UserError, match=r"reward is 1000000000000000\.0"):
        Problem(["A", "B"], sigma=1.0).check_reward(1e15)
    result = simulate(Problem.quick([1e11 - 1, 1e11], sigma=1.0), "ugapec", runs=50, engine="rounds")
    assert result.wrong == 0


def test_what_is_wrong_does_not_depend_on_the_unit() -> None:
    for scale in (1e-13, 1.0, 1e13):
        assert is_wrong(np.array([0.0, 1.0, 0.5]) * scale, 0.5 * scale).tolist() == [True, False, False]


SLOW = """
import bestarm
problem = bestarm.Problem(["A", "B"], means=[0.5, 0.5], reward_range=[0.0, 1.0])
bestarm.simulate(problem, "ugapec", runs=1, engine="events", max_samples=10**5)
print("compiled", flush=True)
try:
    bestarm.simulate(problem, "ugapec", runs=1, engine="events", max_samples=10**12)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def wait_for_work(pid: int, seconds: float = 0.5) -> None:
    """Until a process has computed for so long from now on."""

    def computed() -> float:
        user = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        return int(user) / os.sysconf("SC_CLK_TCK")

    end, deadline = computed() + seconds, time.monotonic() + 60
    while computed() < end:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_ends_a_long_compiled_run() -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "compiled\n"
        wait_for_work(process.pid)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=30) == 0
    assert time.monotonic() - sent < 10
