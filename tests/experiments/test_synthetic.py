"""The synthetic problems are what the paper and the reference numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.experiments import plans, synthetic
from bestarm.experiments.points import Variant, make_points
from bestarm.lower_bound import lower_bound
from bestarm.sweeps.api import run_grid


@pytest.mark.parametrize(("gap", "bound"), [(0.1, 429), (0.2, 107), (0.3, 48), (0.4, 27), (0.5, 17)])
def test_separate_arms_have_the_reference_lower_bounds(gap: float, bound: float) -> None:
    assert round(lower_bound(synthetic.separate(gap).problem)) == bound


@settings(max_examples=30, deadline=None)
@given(gap=st.sampled_from(synthetic.GAPS), seed=st.integers(0, 10**9))
def test_a_random_instance_has_unit_vectors_and_the_wanted_gaps(gap: float, seed: int) -> None:
    problem = synthetic.linear(gap, seed).problem
    assert problem.features is not None
    assert problem.theta is not None
    assert problem.means is not None
    assert np.allclose(np.linalg.norm(problem.features, axis=1), 1)
    assert np.linalg.norm(problem.theta) == pytest.approx(1)
    gaps = problem.means.max() - np.delete(problem.means, 0)
    assert problem.best == 0
    assert gaps[0] == pytest.approx(gap)
    assert (gaps >= gap - 1e-9).all()
    assert (gaps <= 3 * gap + 1e-9).all()


def test_instances_differ_between_runs_and_seeds_and_are_shared_by_methods() -> None:
    first = [instance.problem for instance in synthetic.linear_instances(0.1, "random", 3, seed=0)]
    again = [instance.problem for instance in synthetic.linear_instances(0.1, "random", 3, seed=0)]
    other = [instance.problem for instance in synthetic.linear_instances(0.1, "random", 3, seed=1)]
    assert first == again
    assert len({*first, *other}) == 6


@pytest.mark.parametrize("gap", synthetic.GAPS)
def test_the_orthogonal_instance_has_the_gap(gap: float) -> None:
    problem = synthetic.orthogonal(gap).problem
    assert problem.means is not None
    assert problem.means.tolist() == pytest.approx([gap, 0, 0, 0, 0])


def test_famabpe_on_separate_arms_has_the_reference_mean() -> None:
    """9838 samples with a standard error of 56 over 1,000 runs (round by round); here 200 runs."""
    instances = [synthetic.separate(0.1)]
    (point,) = make_points("mab", 0.1, [Variant.of("famabpe")], instances, agents=10, runs=200, seed=3)
    (result,) = run_grid(point.cells, jobs=1).results
    samples = result.samples
    error = samples.std(ddof=1) / np.sqrt(samples.size)
    assert samples.size == 200
    assert abs(samples.mean() - 9838) < 4 * np.hypot(error, 56)


def test_the_sweep_leaves_out_what_is_run_anyway() -> None:
    for experiment, arms in (("linear", 5), ("movielens-10", 10), ("movielens-100", 100)):
        sweep = plans.falinpe_sweep(experiment, arms)
        theorem = [dict(variant.parameters) for variant in sweep if ("gamma1", 0.01) in variant.parameters]
        names = {variant.name for variant in sweep}
        assert len(names) == len(sweep) == 2 * len(plans.GAMMA1S[experiment]) - 1
        assert [parameters["gamma2"] for parameters in theorem] == [plans.GAMMA2]
