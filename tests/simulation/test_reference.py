"""Both engines against the means of an independent round-by-round implementation.

M = 10, σ = 0.3, δ = 0.05, ε = 0. Multi-armed: K = 5, means 0.9 and four times 0.9 − gap. Linear: d = K = 5,
x₁ = (1+a)e₁, x_k = e_k, θ = a e₁. A reference mean has its standard error in brackets; for communications only
the mean is known, and its error is our own standard deviation over the root of the reference's runs.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from bestarm import Problem, ProblemWarning, Result
from bestarm.methods import Parameter
from bestarm.methods import method as build
from bestarm.simulation.api import prepare, simulate
from bestarm.simulation.worlds.environment import environment

GAPS = (0.1, 0.2, 0.3, 0.4, 0.5)
STRETCHES = (0.1, 0.245, 0.368)


class Reference(NamedTuple):
    """A row of the reference: how to run it, and what came out there."""

    method: str
    parameters: tuple[tuple[str, Parameter], ...]
    size: float  # gap, or a of the linear instance
    runs: int  # of the reference
    ours: int  # runs of the events engine here
    samples: float
    samples_error: float
    communications: float | None
    rounding: float  # of the communications: half a unit of their last digit

    def __str__(self) -> str:
        return "-".join([self.method, *(f"{key}={value}" for key, value in self.parameters), f"{self.size:g}"])


def rows(
    method: str,
    sizes: tuple[float, ...],
    numbers: Sequence[tuple[float, float, float | None]],
    runs: int,
    ours: list[int],
    rounding: float = 0.05,
    **parameters: Parameter,
) -> list[Reference]:
    return [
        Reference(method, tuple(parameters.items()), size, runs, own, *number, rounding)
        for size, number, own in zip(sizes, numbers, ours, strict=True)
    ]


FAMABPE = [(9838, 56, 1087.2), (2118, 13, 756.2), (856, 6, 566.4), (451, 3, 438.2), (268, 2, 340.9)]
FAMABPE_01 = [(29479, 285, 259.6), (6041, 66, 204.3), (2640, 26, 176.0), (1447, 17, 154.2), (776, 10, 132.5)]
FAMABPE_03 = [
    (130122, 1800, 165.5),
    (25570, 401, 135.2),
    (10252, 163, 118.1),
    (5622, 85, 107.2),
    (3702, 54, 99.3),
]
UGAPEC = [(11501, 54, None), (2480, 12, None), (998, 5, None), (524, 3, None), (313, 2, None)]
SYNC_UGAPEC = [(13055, 82, 261.0), (3970, 27, 79.3), (1792, 31, 35.8), (1005, 0, 20.0), (1005, 0, 20.0)]
FALINPE = [(61060, 378, 5561), (7198, 41, 3339), (2500, 15, 2295)]
LINGAPE = [(7380, 125, None), (836, 14, None), (282, 5, None)]
SYNC_LINGAPE = [(9030, 165, 180.5), (1180, 60, 23.5), (1005, 0, 20.0)]

REFERENCES = [
    *rows("famabpe", GAPS, FAMABPE, 1000, [4000] * 5),
    *rows("famabpe", GAPS, FAMABPE_01, 1000, [4000] * 5, gamma=0.1),
    *rows("famabpe", GAPS, FAMABPE_03, 1000, [4000] * 5, gamma=0.3),
    *rows("ugapec", GAPS, UGAPEC, 1000, [1000, 1000, 2000, 2000, 2000]),
    *rows("sync-ugapec", GAPS, SYNC_UGAPEC, 400, [400, 400, 1000, 1000, 1000]),
    *rows("falinpe", STRETCHES, FALINPE, 100, [100, 400, 400], 0.5),
    *rows("falinpe", STRETCHES, FALINPE, 100, [100, 400, 400], 0.5, selection="greedy"),
    *rows("lingape", STRETCHES, LINGAPE, 100, [100, 500, 1000]),
    *rows("sync-lingape", STRETCHES, SYNC_LINGAPE, 40, [80, 400, 400]),
]
# Where the rounds engine, which makes every pull one by one in Python, is done in seconds.
CHEAP = {
    ("famabpe", 0.3): 100,
    ("famabpe", 0.4): 100,
    ("famabpe", 0.5): 100,
    ("famabpe-0.1", 0.5): 100,
    ("ugapec", 0.4): 100,
    ("ugapec", 0.5): 100,
    ("lingape", 0.368): 60,
}


def problem_of(reference: Reference) -> Problem:
    if "lin" not in reference.method:
        return Problem.quick([0.9] + [0.9 - reference.size] * 4, sigma=0.3, delta=0.05)
    a = reference.size
    features = np.diag([1 + a, 1.0, 1.0, 1.0, 1.0])
    return Problem(list("ABCDE"), features=features, theta=[a, 0, 0, 0, 0], sigma=0.3, delta=0.05)


@cache
def result_of(reference: Reference, engine: str, runs: int) -> Result:
    with warnings.catch_warnings():
        # The instance's first arm is longer than 1, as in the reference.
        warnings.filterwarnings("ignore", "(falinpe|lingape|sync-lingape): the longest feature", ProblemWarning)
        method = build(reference.method, problem_of(reference), agents=10, **dict(reference.parameters))
    return simulate(method.problem, method, runs=runs, seed=20240, engine=engine)


def check(reference: Reference, result: Result) -> None:
    """Within three standard errors of the difference of two independent means, and half a unit of rounding."""
    ours = result.summary("samples")
    error = math.hypot(reference.samples_error, ours.stderr)
    assert abs(ours.mean - reference.samples) <= 3 * error + 0.5, (ours.mean, ours.stderr)
    if reference.communications is not None:
        ours = result.summary("communications")
        error = math.hypot(ours.stderr, ours.stderr * math.sqrt(result.runs / reference.runs))
        assert abs(ours.mean - reference.communications) <= 3 * error + reference.rounding, (ours.mean, error)
    assert result.unfinished == 0
    assert result.wrong == 0


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_events(reference: Reference) -> None:
    check(reference, result_of(reference, "events", reference.ours))


def cheap(reference: Reference) -> int:
    gamma = "".join(f"-{value}" for key, value in reference.parameters if key == "gamma")
    return CHEAP.get((reference.method + gamma, reference.size), 0)


@pytest.mark.parametrize("reference", [row for row in REFERENCES if cheap(row)], ids=str)
def test_rounds(reference: Reference) -> None:
    check(reference, result_of(reference, "rounds", cheap(reference)))


@pytest.mark.parametrize("reference", [row for row in REFERENCES if row.method == "falinpe"][:3], ids=str)
def test_greedy_and_ratio_coincide_on_orthogonal_arms(reference: Reference) -> None:
    greedy = reference._replace(parameters=(("selection", "greedy"),))
    ratio_result, greedy_result = (result_of(row, "events", row.ours) for row in (reference, greedy))
    assert np.array_equal(ratio_result.samples, greedy_result.samples)
    assert np.array_equal(ratio_result.communications, greedy_result.communications)


@pytest.mark.parametrize("reference", [row for row in REFERENCES if row.method == "sync-ugapec"], ids=str)
def test_an_episode_of_100_pulls_an_agent_costs_20_messages(reference: Reference) -> None:
    """C = (τ − K)/50 in every single run."""
    result = result_of(reference, "events", reference.ours)
    assert np.array_equal(result.communications * 50, result.samples - 5)


def test_single_agents_send_nothing() -> None:
    for reference in REFERENCES:
        if reference.method in ("ugapec", "lingape"):
            assert not result_of(reference, "events", reference.ours).communications.any()


def test_the_check_has_teeth() -> None:
    """A radius that is too wide by a thirtieth is seen."""
    reference = REFERENCES[0]
    problem = Problem.from_dict(problem_of(reference).to_dict() | {"sigma": 0.31})
    prepared = prepare(build("famabpe", problem, agents=10), seed=20240)
    engine = replace(prepared, environment=environment(problem_of(reference)))
    outcomes = [engine.run(run) for run in range(1000)]
    mean = float(np.mean([outcome.samples for outcome in outcomes]))
    error = math.hypot(reference.samples_error, float(np.std([o.samples for o in outcomes])) / math.sqrt(1000))
    assert abs(mean - reference.samples) > 3 * error + 0.5
