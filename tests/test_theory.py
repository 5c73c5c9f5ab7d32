"""The complexities, the paper's bounds and the lower bound: known values, laws, and brute force."""

import math
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.errors import UserError
from bestarm.lower_bound import characteristic_time, linear_characteristic_time, lower_bound, optimal_design
from bestarm.methods.design import minimal_weights
from bestarm.problem import Problem
from bestarm.theory import (
    Bounds,
    bounds,
    communication_bound,
    complexity,
    falinpe_samples,
    famabpe_samples,
    linear_complexity,
    sample_bound,
)

GAPS = [0.1, 0.2, 0.3, 0.4, 0.5]
# Means of 1,000 and 100 runs of an independent implementation: samples, communications.
FAMABPE = [(9838, 1087.2), (2118, 756.2), (856, 566.4), (451, 438.2), (268, 340.9)]
FALINPE = [(0.1, 61060, 5561), (0.245, 7198, 3339), (0.368, 2500, 2295)]


def equal_gaps(gap: float, arms: int = 5, epsilon: float = 0.0) -> Problem:
    return Problem.quick([0.9] + [0.9 - gap] * (arms - 1), sigma=0.3, epsilon=epsilon)


def orthogonal(a: float) -> Problem:
    features = np.diag([1.0 + a, 1.0, 1.0, 1.0, 1.0])
    return Problem(list("ABCDE"), features=features, theta=[a, 0, 0, 0, 0], sigma=0.3)


def random_linear(seed: int, arms: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and features of unit length."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1)[:, None]
    return features @ random.normal(size=dimension), features


distinct_means = st.lists(st.integers(0, 100), min_size=2, max_size=8, unique=True).map(
    lambda whole: np.array(whole) / 100.0
)
epsilons = st.floats(0.0, 0.9)


# The lower bound


@pytest.mark.parametrize(("gap", "expected"), list(zip(GAPS, [429, 107, 48, 27, 17], strict=True)))
def test_lower_bound_of_equal_gaps(gap: float, expected: int) -> None:
    assert round(lower_bound(equal_gaps(gap))) == expected


def test_lower_bound_of_other_reference_problems() -> None:
    assert round(lower_bound(Problem.quick([0.9, 0.8, 0.7, 0.6, 0.5], sigma=0.3))) == 213
    assert round(lower_bound(equal_gaps(0.1, arms=10, epsilon=0.05))) == 339


@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
def test_equal_gaps_have_a_closed_form(arms: int) -> None:
    means = np.array([0.5] + [0.3] * (arms - 1))
    expected = 2 * 0.7**2 * (1 + math.sqrt(arms - 1)) ** 2 / (0.2 + 0.1) ** 2
    assert characteristic_time(means, 0.7, 0.1) == pytest.approx(expected, rel=1e-12)


def smallest_on_simplex(cost: Callable[[np.ndarray], np.ndarray]) -> float:
    """The minimum of a convex function of three weights on a grid, then on finer ones around the best point."""
    centre, width, best = np.array([1 / 3, 1 / 3]), 1.0, math.inf
    for _ in range(30):
        offsets = np.linspace(-width, width, 41)
        first, second = (side.ravel() for side in np.meshgrid(centre[0] + offsets, centre[1] + offsets))
        inside = (first > 0) & (second > 0) & (first + second < 1)
        w = np.array([first, second, 1 - first - second])[:, inside]
        costs = cost(w)
        best, centre, width = min(best, costs.min()), w[:2, np.argmin(costs)], width / 1.7
    return best


def test_characteristic_time_against_a_grid() -> None:
    """T* = min_w max_j 2σ²(1/w_best + 1/w_j)/(Δ_j+ε)²."""
    means, sigma, epsilon = np.array([0.3, 0.9, 0.6]), 0.5, 0.1

    def cost(w: np.ndarray) -> np.ndarray:
        pairs = [2 * sigma**2 * (1 / w[1] + 1 / w[j]) / (means[1] - means[j] + epsilon) ** 2 for j in (0, 2)]
        return np.asarray(np.max(pairs, axis=0))

    assert characteristic_time(means, sigma, epsilon) == pytest.approx(smallest_on_simplex(cost), rel=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_linear_characteristic_time_against_a_grid(seed: int) -> None:
    means, features = random_linear(seed, arms=3, dimension=2)
    epsilon = 0.05 * (seed % 2)
    best = int(np.argmax(means))

    def cost(w: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(np.einsum("kn,ka,kb->nab", w, features, features))
        pairs = [
            np.einsum("a,nab,b->n", features[best] - features[j], inverse, features[best] - features[j])
            / (means[best] - means[j] + epsilon) ** 2
            for j in range(3)
            if j != best
        ]
        return np.asarray(2 * 0.3**2 * np.max(pairs, axis=0))

    found = linear_characteristic_time(means, features, 0.3, epsilon)
    assert found == pytest.approx(smallest_on_simplex(cost), rel=1e-4)


@pytest.mark.parametrize("arms", [2, 3, 5, 20])
def test_general_linear_routine_on_independent_arms(arms: int) -> None:
    random = np.random.default_rng(arms)
    means, features = random.normal(size=arms), random.normal(size=(arms, arms + 3))
    separate = characteristic_time(means, 0.3, 0.02)
    assert linear_characteristic_time(means, features, 0.3, 0.02) == pytest.approx(separate, rel=2e-5)


@pytest.mark.parametrize(("arms", "dimension"), [(20, 5), (60, 25), (40, 39), (50, 2)])
def test_the_design_attains_its_value(arms: int, dimension: int) -> None:
    """Value and design come with each other: the value is from below, the design proves it from above."""
    means, features = random_linear(1, arms, dimension)
    points = np.linalg.svd(features, full_matrices=False)[0]
    best = int(np.argmax(means))
    directions = np.delete(
        (points[best] - points) / np.maximum(means[best] - means, 1e-12)[:, None], best, axis=0
    )
    value, w = optimal_design(points, directions)
    inverse = np.linalg.inv((points.T * w) @ points)
    attained = np.einsum("ja,ab,jb->j", directions, inverse, directions).max()
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    assert value <= attained * (1 + 1e-9)
    assert attained == pytest.approx(value, rel=2e-5)


def test_a_known_linear_instance() -> None:
    """Soare et al. (2014): e₁, e₂ and a third arm almost e₁. Pulling e₂ tells most about the third."""
    angle = 0.1
    features = np.array([[1.0, 0.0], [0.0, 1.0], [math.cos(angle), math.sin(angle)]])
    means = features @ np.array([2.0, 0.0])
    linear = linear_characteristic_time(means, features, 1.0)
    # y = x₁ − x₃ ≈ −angle·e₂, so about 2 angle²/Δ², where separate arms need 2·4/Δ².
    gap = means[0] - means[2]
    assert linear == pytest.approx(2 * angle**2 / gap**2, rel=0.15)
    assert characteristic_time(means, 1.0) == pytest.approx(8 / gap**2, rel=0.15)


@given(st.integers(0, 10_000), st.integers(2, 10), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_structure_only_helps(seed: int, arms: int, dimension: int) -> None:
    means, features = random_linear(seed, arms, dimension)
    linear = linear_characteristic_time(means, features, 0.3, 0.01)
    assert linear <= characteristic_time(means, 0.3, 0.01) * (1 + 1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_a_change_of_basis_changes_nothing(seed: int) -> None:
    means, features = random_linear(seed, arms=7, dimension=3)
    basis = np.random.default_rng(seed).normal(size=(3, 5))
    here = linear_characteristic_time(means, features, 0.3, 0.01)
    assert linear_characteristic_time(means, features @ basis, 0.3, 0.01) == pytest.approx(here, rel=2e-5)


@given(distinct_means, epsilons, epsilons)
def test_lower_bound_falls_with_epsilon(means: np.ndarray, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert lower_bound(Problem.quick(means.tolist(), 0.3, epsilon=high)) <= lower_bound(
        Problem.quick(means.tolist(), 0.3, epsilon=low)
    ) * (1 + 1e-12)


@given(distinct_means, st.floats(0.01, 0.6), st.floats(0.01, 0.6))
def test_lower_bound_falls_with_delta(means: np.ndarray, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert lower_bound(Problem.quick(means.tolist(), 0.3, delta=high)) <= lower_bound(
        Problem.quick(means.tolist(), 0.3, delta=low)
    )


@given(distinct_means)
def test_one_more_arm_never_helps(means: np.ndarray) -> None:
    assert characteristic_time(np.append(means, -0.01), 0.3) > characteristic_time(means, 0.3)


def test_edges_of_the_lower_bound() -> None:
    assert lower_bound(Problem.quick([0.5, 0.5, 0.1], sigma=0.3)) == math.inf
    assert math.isfinite(lower_bound(Problem.quick([0.5, 0.5, 0.1], sigma=0.3, epsilon=0.1)))
    assert lower_bound(Problem.quick([0.5, 0.1], sigma=0.3, delta=0.5)) == 0.0
    tied = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert linear_characteristic_time(tied @ np.ones(2), tied, 0.3) == math.inf
    twins = np.array([[1.0], [1.0]])
    assert linear_characteristic_time(np.ones(2), twins, 0.3, 0.1) < 1e-20
    with pytest.raises(UserError, match="no means"):
        lower_bound(Problem(["A", "B"], sigma=0.3))


# Complexities and the linear programme


def test_complexity_is_the_printed_sum_but_for_the_best_arm() -> None:
    means, epsilon = np.array([0.9, 0.8, 0.5]), 0.05
    widths = [(0.1 + epsilon) / 3, (0.1 + epsilon) / 3, (0.4 + epsilon) / 3]
    assert complexity(means, 0.3, epsilon) == pytest.approx(sum(0.09 / width**2 for width in widths))
    assert complexity(means, 0.3, 0.5) == pytest.approx(3 * 0.09 / 0.5**2)
    assert complexity(np.array([0.9, 0.9]), 0.3) == math.inf


def test_linear_complexity_of_independent_arms() -> None:
    """w* = e_i − e_j, so ρ = 4 and p* = ½ each; an arm is hardest to pull enough against the best arm."""
    means = np.array([0.9, 0.8, 0.5])
    expected = 2 * 9 * (1 / 0.1**2 + 1 / 0.1**2 + 1 / 0.4**2)
    arms = np.eye(3)
    assert linear_complexity(means, arms) == pytest.approx(expected)
    solved = linear_complexity(means, arms, designs=lambda i, j: minimal_weights(arms, arms[i] - arms[j]))
    assert solved == pytest.approx(expected)
    assert linear_complexity(np.array([0.9, 0.9]), np.eye(2)) == math.inf


def test_linear_complexity_by_hand_on_dependent_arms() -> None:
    """On a line every y is a multiple of the longest arm, the cheapest one to write it with."""
    features = np.array([[1.0], [0.5], [0.25]])
    means = features @ np.array([0.8])
    # So ρ p*_0 = y², and the other arms are never pulled.
    pairs = {(0, 1): 0.5, (0, 2): 0.75, (1, 2): 0.25}
    hardest = max(y**2 / ((0.8 - min(means[i], means[j])) / 3) ** 2 for (i, j), y in pairs.items())
    assert linear_complexity(means, features) == pytest.approx(hardest)


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_minimal_weights_are_minimal(seed: int, arms: int, dimension: int) -> None:
    """An optimum of the programme sits at a basis; the best of all bases is found by trying them."""
    _, features = random_linear(seed, arms, dimension)
    direction = features[0] - features[1]
    weights = minimal_weights(features, direction)
    np.testing.assert_allclose(weights @ features, direction, atol=1e-10)
    rank = np.linalg.matrix_rank(features)
    sizes = []
    for basis in combinations(range(arms), rank):
        chosen = features[list(basis)]
        if np.linalg.cond(chosen) < 1e6:
            solution = np.linalg.lstsq(chosen.T, direction, rcond=None)[0]
            if np.allclose(solution @ chosen, direction, atol=1e-9):
                sizes.append(np.abs(solution).sum())
    assert np.abs(weights).sum() <= min(sizes) + 1e-8
    assert np.count_nonzero(weights) <= rank
    np.testing.assert_array_equal(minimal_weights(features, -direction), -weights)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_minimal_weights_in_any_units(scale: float) -> None:
    features = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 4.0, 0.0]])
    weights = minimal_weights(features * scale, np.array([1.0, -1.0, 0.0]) * scale)
    np.testing.assert_allclose(weights, [1.0, 0.0, -0.25], rtol=1e-9)
    assert weights[1] == 0.0
    assert not minimal_weights(features, np.zeros(3)).any()


def test_equal_weights_are_equal_to_the_bit() -> None:
    _, features = random_linear(3, arms=8, dimension=8)
    weights = minimal_weights(features, features[2] - features[5])
    assert np.flatnonzero(weights).tolist() == [2, 5]
    assert weights[2] == -weights[5]


def test_minimal_weights_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="outside their span"):
        minimal_weights(np.array([[1.0, 0.0]]), np.array([0.0, 1.0]))
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(UserError, match=r'pip install "bestarm\[simulate\]"'):
        minimal_weights(np.eye(2), np.array([1.0, -1.0]))


# The theorems


@pytest.mark.parametrize(("gap", "measured"), list(zip(GAPS, FAMABPE, strict=True)))
def test_famabpe_stays_below_its_bounds(gap: float, measured: tuple[float, float]) -> None:
    found = bounds(equal_gaps(gap), "famabpe", 10)
    assert found is not None
    assert found.samples is not None
    assert found.communications is not None
    assert found.lower < measured[0] < found.samples < 20 * measured[0]
    assert measured[1] < found.communications < 10 * measured[1]


@pytest.mark.parametrize(("a", "samples", "communications"), FALINPE)
def test_falinpe_stays_below_its_bounds(a: float, samples: float, communications: float) -> None:
    found = bounds(orthogonal(a), "falinpe", 10)
    assert found is not None
    assert found.samples is not None
    assert found.communications is not None
    assert found.lower < samples < found.samples < 40 * samples
    assert communications < found.communications < 10 * communications


def test_famabpe_bound_solves_its_equation() -> None:
    problem, gamma = equal_gaps(0.1), 0.004
    found = sample_bound(problem, 10, "famabpe", gamma=gamma)

    def right_side(tau: float) -> float:
        logarithm = math.log(4 * 5 / 0.05 * ((1 + 10 * gamma) * tau) ** 2)
        return (1 + 10 * gamma) / (1 - 50 * gamma) * (405 * 2 * logarithm + 50)

    assert found == pytest.approx(right_side(found), rel=1e-12)
    assert all(tau > right_side(tau) for tau in found * np.array([1 + 1e-9, 1.01, 2, 100, 1e9]))
    assert found == famabpe_samples(complexity(np.array([0.9] + [0.8] * 4), 0.3), 5, 10, 0.05, gamma)


def test_falinpe_bound_solves_its_equation() -> None:
    problem, gamma1, gamma2, lambda_ = orthogonal(0.2), 0.02, 0.005, 0.7
    found = sample_bound(problem, 10, "falinpe", gamma1=gamma1, gamma2=gamma2, lambda_=lambda_)
    hardness = 5 * 2 * 9 / (0.2 * 1.2) ** 2

    def right_side(tau: float) -> float:
        logarithm = math.log(2 / 0.05 * (1 + (1 + 10 * gamma2) * tau / (gamma1 * lambda_)))
        factor = math.sqrt(2 * gamma1) * 10 + math.sqrt(1 + 10 * gamma1)
        radius = math.sqrt(lambda_) + factor * 0.3 * math.sqrt(5 * logarithm)
        return (1 + 10 * gamma2) / (1 - 50 * gamma2) * (hardness * radius**2 + 50)

    assert found == pytest.approx(right_side(found), rel=1e-12)
    assert all(tau > right_side(tau) for tau in found * np.array([1 + 1e-9, 1.01, 2, 100, 1e9]))
    assert found == pytest.approx(falinpe_samples(hardness, 5, 5, 10, 0.3, 0.05, gamma1, gamma2, lambda_))


def test_communications_by_hand() -> None:
    assert communication_bound(1024, agents=10, gamma=0.01) == pytest.approx(2 * 110 * 10 - 1)
    with_determinant = communication_bound(
        1024, agents=10, gamma=0.01, gamma1=0.1, lambda_=2.0, dimension=4, longest_feature=0.5
    )
    assert with_determinant == pytest.approx(2 * (110 * 10 + 20 * 4 * math.log2(1 + 1024 / 4 / 8)) - 1)


@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.3])
def test_no_bound_where_the_theorem_has_none(gamma: float) -> None:
    """γKM ≥ 1, as in the reference table's columns γ = 0.1 and 0.3."""
    assert sample_bound(equal_gaps(0.1), 10, "famabpe", gamma=gamma) == math.inf
    assert sample_bound(orthogonal(0.1), 10, "falinpe", gamma2=gamma) == math.inf
    found = bounds(equal_gaps(0.1), "famabpe", 10, {"gamma": gamma})
    assert found == Bounds(math.inf, math.inf, lower_bound(equal_gaps(0.1)))


def test_only_the_papers_methods_have_theorems() -> None:
    problem = orthogonal(0.1)
    bare = Bounds(None, None, lower_bound(problem))
    for name in ("sharp", "ugapec", "lingape", "sync-ugapec", "sync-lingape"):
        assert bounds(problem, name, 10, {"pseudo_count": 10.0}) == bare
    assert bounds(problem, "falinpe", 10, {"selection": "greedy"}) == bare
    assert bounds(problem, "famabpe", 10, {"min_batch": 8}) == bare
    assert bounds(problem, "famabpe", 10, {"min_batch": 1, "gamma": 0.01}) == bounds(problem, "famabpe", 10)
    assert bounds(problem, "falinpe", 10, {"lambda_": 1.0}) == bounds(problem, "falinpe", 10, {"lambda": 1.0})
    assert bounds(Problem(["A", "B"], sigma=0.3), "famabpe", 10) is None


def test_bounds_say_what_is_wrong() -> None:
    with pytest.raises(UserError, match="no theorem bounds the samples of sharp"):
        sample_bound(equal_gaps(0.1), 10, "sharp")
    with pytest.raises(UserError, match="no means"):
        sample_bound(Problem(["A", "B"], sigma=0.3), 10, "famabpe")
    with pytest.raises(UserError, match="no features"):
        sample_bound(equal_gaps(0.1), 10, "falinpe")
    with pytest.raises(UserError, match="gamma is 0"):
        sample_bound(equal_gaps(0.1), 10, "famabpe", gamma=0)
    with pytest.raises(UserError, match="no parameter 'gamma1'"):
        sample_bound(equal_gaps(0.1), 10, "famabpe", gamma1=0.1)


@given(distinct_means, st.integers(1, 50), st.floats(0.0, 0.5), st.floats(0.001, 0.4))
def test_bound_is_above_the_lower_bound(means: np.ndarray, agents: int, epsilon: float, delta: float) -> None:
    found = bounds(Problem.quick(means.tolist(), 0.3, delta=delta, epsilon=epsilon), "famabpe", agents)
    assert found is not None
    assert found.samples is not None
    assert found.samples > found.lower


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 4), st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_linear_bound_is_above_the_lower_bound(seed: int, arms: int, dimension: int, agents: int) -> None:
    means, features = random_linear(seed, arms, dimension)
    problem = Problem(
        [f"arm {k}" for k in range(arms)], features=features, means=means, sigma=0.3, epsilon=0.01
    )
    found = bounds(problem, "falinpe", agents)
    assert found is not None
    assert found.samples is not None
    assert found.samples > found.lower


@given(distinct_means, epsilons, epsilons, st.integers(1, 50))
def test_sample_bound_falls_with_epsilon(means: np.ndarray, first: float, second: float, agents: int) -> None:
    low, high = sorted((first, second))
    easy = sample_bound(Problem.quick(means.tolist(), 0.3, epsilon=high), agents, "famabpe")
    assert easy <= sample_bound(Problem.quick(means.tolist(), 0.3, epsilon=low), agents, "famabpe") * (
        1 + 1e-12
    )
