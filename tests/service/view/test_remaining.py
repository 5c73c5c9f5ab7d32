"""How often a study ends where the estimate says that it will."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.methods import Verdict
from bestarm.service.view.said.remaining import remaining
from bestarm.simulation.api import prepare


def verdict(evidence: float, *, stopped: bool = False) -> Verdict:
    return Verdict(stopped, "A", "B", 0.1, evidence, 100)


@pytest.mark.parametrize(
    ("method", "given", "expected"),
    [
        ("sharp", verdict(0.5), {"low": 23, "high": 152}),
        ("famabpe", verdict(0.5), {"low": 51, "high": 234}),
        ("sharp", verdict(0.99), {"low": 1, "high": 32}),
        ("sharp", verdict(0.0), None),
        ("sharp", verdict(1e-15), None),
        ("sharp", verdict(1e-300), None),
        ("sharp", verdict(1.2, stopped=True), None),
        # Both tests agree up to rounding: the index may miss epsilon by a hair when the evidence says 1.
        ("sharp", verdict(1.0), {"low": 1, "high": 30}),
    ],
)
def test_what_remains(method: str, given: Verdict, expected: Any) -> None:
    problem = bestarm.Problem(["A", "B"], sigma=0.3, delta=0.05, epsilon=0.0, sites="alike")
    assert remaining(bestarm.method(method, problem, 4), 100, given) == expected


def yes_or_no(random: np.random.Generator) -> bestarm.Problem:
    """Rates from 2 to 50 %, and the best one larger by a fifth to three fifths."""
    rate, arms = float(random.choice([0.02, 0.05, 0.2, 0.5])), int(random.choice([2, 3, 5, 10]))
    lower = rate * np.r_[1.0, random.uniform(0.7, 1.0, arms - 2)]
    means = [rate * float(random.choice([1.2, 1.3, 1.6])), *lower.tolist()]
    return bestarm.Problem([f"arm {k}" for k in range(arms)], means=means, rewards="yes-no")


def problem(seed: int, kind: str) -> bestarm.Problem:
    """Problems of many kinds: few arms and many, alike and graded, near and far."""
    random = np.random.default_rng(seed)
    if kind == "yes-no":
        return yes_or_no(random)
    arms = int(random.choice([3, 5, 10, 20]))
    gap, epsilon = float(random.choice([0.1, 0.2, 0.3])), float(random.choice([0.0, 0.0, 0.03]))
    steps = random.choice([0.0, 1.0]) * np.arange(arms - 1) + random.uniform(0.0, 1.0, arms - 1)
    means = np.r_[0.9, 0.9 - gap, 0.9 - gap * (1.0 + np.minimum(steps[1:], 4.0))]
    shared: dict[str, Any] = {"sigma": 0.3, "delta": 0.05, "epsilon": epsilon}
    names = [f"arm {k}" for k in range(arms)]
    if kind == "separate":
        return bestarm.Problem(names, means=means.tolist(), **shared)
    theta, other = np.linalg.qr(random.normal(size=(3, 2)))[0].T
    means = np.clip(means, -0.9, 0.9)
    turned = np.array([np.cos(angle) * other + np.sin(angle) * np.cross(theta, other) for angle in range(arms)])
    features = means[:, None] * theta + np.sqrt(1.0 - means[:, None] ** 2) * turned
    return bestarm.Problem(names, features=features.tolist(), theta=theta.tolist(), **shared)


@pytest.mark.parametrize(
    ("method", "kind", "runs"),
    [("sharp", "separate", 150), ("sharp", "linear", 60), ("famabpe", "separate", 40), ("sharp", "yes-no", 60)],
)
def test_about_four_of_five_studies_end_inside(method: str, kind: str, runs: int) -> None:
    """At any moment of a study; the seeds fix the runs, so this measures once and for all."""
    inside: list[bool] = []
    for seed in range(runs):
        random = np.random.default_rng([seed, 1])
        built = bestarm.method(method, problem(seed, kind), int(random.choice([2, 5, 10])))
        _, trace = prepare(built, seed, "events").trace(0)
        assert trace[-1, 3] >= 1.0
        known = trace[:-1][trace[:-1, 3] > 0.01]
        for samples, _, _, evidence in random.permutation(known)[:10]:
            found = remaining(built, int(samples), verdict(evidence))
            assert found is not None
            inside.append(found["low"] <= trace[-1, 0] - samples <= found["high"])
    print(f"{method}, {kind}: {np.mean(inside):.3f} of {len(inside)} moments")
    assert 0.75 < np.mean(inside) < 0.95
