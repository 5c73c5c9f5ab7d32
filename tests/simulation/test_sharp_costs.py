"""What sharp may cost at most, on the problems of `benchmarks/sharp.py`, and that no run gets stuck."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import bestarm
from bestarm.lower_bound import lower_bound

FILE = Path(__file__).parents[2] / "benchmarks" / "sharp.py"
spec = importlib.util.spec_from_file_location("benchmark_of_sharp", FILE)
assert spec is not None
assert spec.loader is not None
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)

FIVE = benchmark.alike(bestarm.Problem.quick([0.9] + [0.8] * 4, sigma=0.3))


@pytest.mark.parametrize(
    ("thrift", "samples", "communications"),
    [("samples", 1450, 480), ("balanced", 1700, 235), ("messages", 2350, 128)],
)
def test_five_arms(thrift: str, samples: float, communications: float) -> None:
    """Means over 10,000 runs; the longest of them takes at most six times the mean."""
    result = bestarm.simulate(FIVE, "sharp", agents=10, runs=10_000, seed=0, thrift=thrift)
    assert result.unfinished == 0
    assert result.summary("samples").mean < samples
    assert result.summary("communications").mean < communications
    assert result.samples.max() < 6 * result.samples.mean()
    if thrift == "balanced":
        assert result.samples.mean() < 4 * lower_bound(FIVE)


def test_independent_features() -> None:
    """Ten arms in 25 dimensions: the paper's linear method takes about 290,000 samples here."""
    result = bestarm.simulate(benchmark.alike(benchmark.independent(0.1, 0.05)), "sharp", agents=10, runs=1000)
    assert result.unfinished == 0
    assert result.samples.mean() < 1900
    assert result.communications.mean() < 220


@pytest.mark.parametrize("arms", [20, 50])
def test_features_of_low_rank(arms: int) -> None:
    results = [
        bestarm.simulate(
            benchmark.alike(benchmark.linear(arms, 5, 0.1, seed)), "sharp", agents=10, runs=20, seed=seed
        )
        for seed in range(50)
    ]
    assert sum(result.unfinished for result in results) == 0
    assert np.mean([result.samples.mean() for result in results]) < 760
    assert np.mean([result.communications.mean() for result in results]) < 160


def test_both_engines_agree() -> None:
    easy = bestarm.Problem.quick([0.9, 0.6, 0.5], sigma=0.3)
    fast = bestarm.simulate(easy, "sharp", agents=5, runs=4000, seed=1)
    slow = bestarm.simulate(easy, "sharp", agents=5, runs=400, seed=2, engine="rounds")
    for field in ("samples", "communications", "switches", "unsent"):
        one, other = fast.summary(field), slow.summary(field)
        assert abs(one.mean - other.mean) < 4 * np.hypot(one.stderr, other.stderr)
