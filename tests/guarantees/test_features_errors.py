"""Rule-out for arms with features is wrong with probability at most delta where sites differ.

A run that has not stopped within its horizon is no error, and the horizon is long enough for many to stop. The
same world with the logarithm of the threshold halved must break the promise.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from scipy.stats import beta

import bestarm

RUNS, HORIZON = 2_000, 500
OFFSETS = (0.9, -0.9, 0.0)
ANGLES = {"line": (0.0, math.pi), "plane": (0.0, 0.6, 1.2, 2.0)}


def upper_limit(errors: int, runs: int) -> float:
    """The one-sided 99.9 % Clopper–Pearson limit of an error rate."""
    return float(beta.ppf(0.999, errors + 1, runs - errors)) if errors < runs else 1.0


@cache
def close_call(shape: str, delta: float, sigma: float | None, epsilon: float = 0.0) -> bestarm.Result:
    """Arms whose means differ by a few thousandths of sigma, at three sites that differ by up to 6 sigma."""
    features = [[math.cos(angle), math.sin(angle)] for angle in ANGLES[shape]]
    names = [f"arm-{k}" for k in range(len(features))]
    shared: dict[str, Any] = {"sigma": sigma, "delta": delta, "epsilon": epsilon, "sites": "differ"}
    problem = bestarm.Problem(names, features=features, theta=[0.0005, 0.0005], **shared)
    return bestarm.simulate(
        problem,
        "sharp",
        agents=3,
        runs=RUNS,
        seed=11,
        noise=0.3,
        offsets=OFFSETS,
        drift=0.6,
        max_samples=HORIZON,
        stopping="rule-out-features",
        thrift="messages",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "delta", "sigma", "epsilon"),
    [
        ("line", 0.05, 0.3, 0.0),
        ("line", 0.3, None, 0.0),
        ("line", 0.3, 0.3, 0.0005),
        ("plane", 0.3, 0.3, 0.0),
    ],
)
def test_the_error_rate_with_features(shape: str, delta: float, sigma: float | None, epsilon: float) -> None:
    """In the plane few runs stop: the deficits that accounts have there are paid for generously."""
    result = close_call(shape, delta, sigma, epsilon)
    assert upper_limit(result.wrong, RUNS) < delta
    assert RUNS - result.unfinished > (40 if shape == "line" else 5)


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "share"), [(0.3, 2), (None, 3)])
def test_it_has_teeth_with_features(sigma: float | None, share: int) -> None:
    """With half of the threshold's logarithm the promise breaks; with a third of it where sigma is measured.

    On a line accounts have no deficit; `test_the_deficit_must_be_paid` shows what that is for.
    """
    delta = 0.05
    assert close_call("line", delta ** (1 / share), sigma).wrong / RUNS > delta
