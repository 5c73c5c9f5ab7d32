"""The closed form of the next upload is the paper's inequality tried pull by pull."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bestarm import Problem, Tally
from bestarm.core.trigger.determinant import exceed
from bestarm.methods import method as build

ARMS = 4
counts = st.lists(st.integers(1, 2000), min_size=ARMS, max_size=ARMS)
PLAIN = Problem([f"arm-{k}" for k in range(ARMS)], sigma=0.3)


@given(counts, st.integers(1, 300), st.integers(1, 1000))
@settings(deadline=None)
def test_count_trigger_with_any_fraction(pulls: list[int], over: int, under: int) -> None:
    """The smallest n with N + n > (1 + γ)N, in exact fractions; γ arrives as a rounded float."""
    gamma, samples = Fraction(over, under), sum(pulls)
    assume(gamma * samples <= 3000)
    n = 1
    while not samples + n > (1 + gamma) * samples:
        n += 1
    method = build("famabpe", PLAIN, agents=3, gamma=over / under)
    assert method.plan(Tally.of(pulls, [0.0] * ARMS)).size == n


@given(st.integers(1, 60), st.integers(2, 12), st.integers(1, 100_000))
@settings(deadline=None)
def test_count_trigger_with_the_theorems_gamma(agents: int, arms: int, multiple: int) -> None:
    """γ = 1/(2MK): n = N // (2MK) + 1, also at the ties where N is a multiple of 2MK."""
    samples = arms + multiple if multiple % 2 else 2 * agents * arms * (multiple // 100 + 1)
    gamma = Fraction(1, 2 * agents * arms)
    n = samples // (2 * agents * arms) + 1
    assert samples + n > (1 + gamma) * samples >= samples + n - 1
    problem = Problem([f"arm-{k}" for k in range(arms)], sigma=0.3)
    pulls = [1] * (arms - 1) + [samples - arms + 1]
    method = build("famabpe", problem, agents=agents)
    assert method.plan(Tally.of(pulls, [0.0] * arms)).size == n


features = st.lists(
    st.lists(st.integers(-8, 8), min_size=3, max_size=3).filter(any),
    min_size=ARMS,
    max_size=ARMS,
    unique_by=tuple,
).map(lambda rows: np.array(rows) / 16.0)


@given(
    features,
    st.lists(st.integers(1, 300), min_size=ARMS, max_size=ARMS),
    st.lists(st.integers(-100, 100), min_size=ARMS, max_size=ARMS),
    st.floats(1e-3, 2.0),
    st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000),
    st.floats(0.05, 5.0),
)
@settings(deadline=None)
def test_determinant_trigger(
    rows: np.ndarray, pulls: list[int], sums: list[int], gamma1: float, gamma2: Fraction, lam: float
) -> None:
    """The smallest n with det(V + n xx')/det V > 1 + γ₁ or N + n > (1 + γ₂)N, with determinants from numpy.

    A ratio of two determinants carries a rounding error of some 1e-13. Where it lies within 1e-9 of 1 + γ₁, the
    determinants can't say on which side the exact ratio is, so such draws are left out.
    """
    problem = Problem([f"arm-{k}" for k in range(ARMS)], sigma=0.3, features=rows)
    method = build(
        "falinpe", problem, agents=3, gamma1=gamma1, gamma2=float(gamma2), lambda_=lam, selection="greedy"
    )
    plan = method.plan(Tally.of(pulls, [float(total) for total in sums]))
    (arm,) = plan.arms
    samples = sum(pulls)
    matrix = lam * np.eye(3)
    for row, count in zip(rows, pulls, strict=True):
        matrix += count * np.outer(row, row)
    before, n = np.linalg.det(matrix), 0
    while True:
        n += 1
        ratio = np.linalg.det(matrix + n * np.outer(rows[arm], rows[arm])) / before
        assume(abs(ratio - (1 + gamma1)) > 1e-9)
        if ratio > 1 + gamma1 or samples + n > (1 + gamma2) * samples:
            break
    assert plan.size == n


@given(st.integers(1, 1000), st.integers(1, 10_000), st.integers(0, 20))
def test_exceed_is_the_smallest_whole_number_above(step: int, level: int, shift: int) -> None:
    """On binary fractions the products are exact, ties included."""
    small, high = step / 2**shift, level / 2**shift
    n = exceed(small, high)
    assert n * small > high
    assert n == 1 or (n - 1) * small <= high


@pytest.mark.parametrize(("gamma", "n"), [(0.1, 11), (0.3, 31), (0.01, 2), (0.07, 8), (1 / 3, 34), (2.0, 201)])
def test_ties_fall_on_the_right_side(gamma: float, n: int) -> None:
    """At N = 100 the product γN is whole, and floating point has 0.07 · 100 > 7 and 0.1 + 0.2 > 0.3."""
    method = build("famabpe", PLAIN, agents=3, gamma=gamma)
    assert method.plan(Tally.of([25] * ARMS, [0.0] * ARMS)).size == n
