"""The methods against small scalar implementations of their formulas, written apart from the package."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bestarm import Method, Problem, ProblemWarning, Tally, UserError
from bestarm.methods import METHODS, TESTS, Kind, parse_parameters
from bestarm.methods import method as build
from bestarm.methods.design import minimal_weights
from bestarm.testing.worlds import YES_OR_NO

Vector = list[float]
CLEAR = 1e-9  # a choice is compared where the best is this much better than the next: rounding differs

# Plain linear algebra on lists


def dot(left: Vector, right: Vector) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def minus(left: Vector, right: Vector) -> Vector:
    return [a - b for a, b in zip(left, right, strict=True)]


def solve(matrix: list[Vector], right: Vector) -> Vector:
    """Gaussian elimination with pivoting."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = max(range(k, size), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(k + 1, size):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    solution = [0.0] * size
    for k in reversed(range(size)):
        known = math.fsum(rows[k][c] * solution[c] for c in range(k + 1, size))
        solution[k] = (rows[k][size] - known) / rows[k][k]
    return solution


def determinant(matrix: list[Vector]) -> float:
    """By expansion along the first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    return math.fsum(
        (-1) ** c * matrix[0][c] * determinant([row[:c] + row[c + 1 :] for row in matrix[1:]])
        for c in range(len(matrix))
    )


def ridge_matrix(features: list[Vector], pulls: list[int], lam: float) -> list[Vector]:
    d = len(features[0])
    return [
        [
            (lam if r == c else 0.0) + math.fsum(n * x[r] * x[c] for n, x in zip(pulls, features, strict=True))
            for c in range(d)
        ]
        for r in range(d)
    ]


# The formulas


@dataclass
class Expected:
    """What a method should read from a tally. `clear` is false where rounding decides between two arms."""

    leader: int
    challenger: int
    index: float
    clear: bool


def argmax(scores: dict[int, float]) -> tuple[int, bool]:
    """The best arm, the lowest of equals, and whether it is clearly the best."""
    best = max(scores, key=lambda k: (scores[k], -k))
    others = [score for k, score in scores.items() if k != best]
    return best, not others or scores[best] - max(others) > CLEAR


def read_by(values: Vector, alpha: Callable[[int, int], float]) -> Expected:
    """i = argmax v, j = argmax_{k≠i} [v_k − v_i + α(i,k)], B that maximum."""
    i, sure = argmax(dict(enumerate(values)))
    gaps = {k: values[k] - values[i] + alpha(i, k) for k in range(len(values)) if k != i}
    j, sure_too = argmax(gaps)
    return Expected(i, j, gaps[j], sure and sure_too)


def sigma_of(p: Problem) -> float:
    assert p.sigma is not None
    return p.sigma


def famabpe(pulls: list[int], sums: Vector, p: Problem, agents: int, gamma: float) -> Expected:
    n, sigma = sum(pulls), sigma_of(p)

    def alpha(k: int) -> float:
        inside = (4 * len(pulls) / p.delta) * ((1 + gamma * agents) * n) ** 2
        return sigma * math.sqrt((2 / pulls[k]) * math.log(inside))

    means = [s / t for s, t in zip(sums, pulls, strict=True)]
    return read_by(means, lambda i, k: alpha(i) + alpha(k))


def ugapec(pulls: list[int], sums: Vector, p: Problem) -> Expected:
    arms, t = range(len(pulls)), sum(pulls)
    means = [s / n for s, n in zip(sums, pulls, strict=True)]
    beta = [sigma_of(p) * math.sqrt((2 / n) * math.log(4 * len(pulls) * t**3 / p.delta)) for n in pulls]
    upper = [m + b for m, b in zip(means, beta, strict=True)]
    lower = [m - b for m, b in zip(means, beta, strict=True)]
    index = {k: max(upper[j] for j in arms if j != k) - lower[k] for k in arms}
    leader, sure = argmax({k: -index[k] for k in arms})
    challenger, sure_too = argmax({k: upper[k] for k in arms if k != leader})
    return Expected(leader, challenger, index[leader], sure and sure_too)


def linear(features: list[Vector], pulls: list[int], sums: Vector, lam: float, scale: float) -> Expected:
    matrix = ridge_matrix(features, pulls, lam)
    target = [math.fsum(s * x[r] for s, x in zip(sums, features, strict=True)) for r in range(len(matrix))]
    theta = solve(matrix, target)

    def alpha(i: int, k: int) -> float:
        y = minus(features[i], features[k])
        return scale * math.sqrt(max(dot(y, solve(matrix, y)), 0.0))

    return read_by([dot(x, theta) for x in features], alpha)


def falinpe_scale(n: int, d: int, p: Problem, agents: int, g1: float, g2: float, lam: float) -> float:
    noise = sigma_of(p) * math.sqrt(
        d * math.log((2 / p.delta) * (1 + (1 + g2 * agents) * n / (min(g1, 1) * lam)))
    )
    return math.sqrt(lam) + (math.sqrt(2 * g1) * agents + math.sqrt(1 + g1 * agents)) * noise


def lingape_scale(features: list[Vector], pulls: list[int], p: Problem, lam: float) -> float:
    k, d = len(features), len(features[0])
    root = math.sqrt(determinant(ridge_matrix(features, pulls, lam)))
    return sigma_of(p) * math.sqrt(2 * math.log(k**2 * root / (lam ** (d / 2) * p.delta))) + math.sqrt(lam)


def greedy_arm(features: list[Vector], pulls: list[int], lam: float, i: int, j: int) -> tuple[int, bool]:
    """argmin_k y'(V + x_k x_k')⁻¹ y."""
    y = minus(features[i], features[j])
    scores = {}
    for k, x in enumerate(features):
        matrix = ridge_matrix(features, pulls, lam)
        grown = [[matrix[r][c] + x[r] * x[c] for c in range(len(x))] for r in range(len(x))]
        scores[k] = -dot(y, solve(grown, y))
    return argmax(scores)


# Random tallies


@st.composite
def tallies(draw: st.DrawFn) -> tuple[list[int], Vector]:
    arms = draw(st.integers(2, 7))
    pulls = draw(st.lists(st.integers(1, 5000), min_size=arms, max_size=arms))
    means = draw(st.lists(st.floats(-2, 2), min_size=arms, max_size=arms))
    return pulls, [n * m for n, m in zip(pulls, means, strict=True)]


@st.composite
def linear_tallies(draw: st.DrawFn) -> tuple[list[Vector], list[int], Vector]:
    arms, d = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    whole = st.lists(st.integers(-10, 10), min_size=d, max_size=d).filter(any).map(tuple)
    rows = draw(st.lists(whole, min_size=arms, max_size=arms, unique=True))
    features = [[x / 20 for x in row] for row in rows]
    pulls = draw(st.lists(st.integers(1, 3000), min_size=arms, max_size=arms))
    means = draw(st.lists(st.floats(-1, 1), min_size=arms, max_size=arms))
    return features, pulls, [n * m for n, m in zip(pulls, means, strict=True)]


problems = st.tuples(st.floats(0.05, 2.0), st.floats(0.001, 0.4), st.floats(0.0, 0.5))


def problem_of(
    arms: int, settings_: tuple[float, float, float], features: list[Vector] | None = None
) -> Problem:
    sigma, delta, epsilon = settings_
    names = [f"arm-{k}" for k in range(arms)]
    return Problem(names, sigma=sigma, delta=delta, epsilon=epsilon, features=features)


def compare(method: Method, pulls: list[int], sums: Vector, expected: Expected) -> None:
    tally = Tally.of(pulls, sums)
    reading = method.read(method.begin(tally))
    verdict = method.verdict(tally)
    assert reading.breaking_index == pytest.approx(expected.index, rel=1e-8, abs=1e-8)
    assert verdict.breaking_index == reading.breaking_index
    if expected.clear:
        names = method.problem.arms
        assert (reading.leader, reading.challenger) == (expected.leader, expected.challenger)
        assert (verdict.leader, verdict.challenger) == (names[expected.leader], names[expected.challenger])
    if abs(expected.index - method.problem.epsilon) > 1e-7:
        stopped = expected.index <= method.problem.epsilon
        assert verdict.stopped is stopped
        assert verdict.arm == (verdict.leader if stopped else None)
        # The evidence reaches 1 exactly when the index reaches ε.
        assert (verdict.evidence >= 1) is stopped
    assert verdict.samples == sum(pulls)


@given(tallies(), problems, st.integers(1, 20), st.fractions(Fraction(1, 500), 1, max_denominator=500))
@settings(deadline=None, max_examples=200)
def test_famabpe(
    tally: tuple[list[int], Vector], numbers: tuple[float, float, float], agents: int, gamma: Fraction
) -> None:
    pulls, sums = tally
    problem = problem_of(len(pulls), numbers)
    method = build("famabpe", problem, agents=agents, gamma=float(gamma))
    expected = famabpe(pulls, sums, problem, agents, float(gamma))
    compare(method, pulls, sums, expected)
    plan = method.plan(Tally.of(pulls, sums))
    if expected.clear:
        # The one with the larger α, which has fewer pulls; the leader if both have as many.
        i, j = expected.leader, expected.challenger
        assert plan.arms == (i if pulls[i] <= pulls[j] else j,)
    n = math.floor(gamma * sum(pulls)) + 1
    assert plan.counts == (n,)


@given(tallies(), problems, st.integers(1, 20))
@settings(deadline=None)
def test_famabpe_with_the_theorems_gamma(
    tally: tuple[list[int], Vector], numbers: tuple[float, float, float], agents: int
) -> None:
    pulls, sums = tally
    problem = problem_of(len(pulls), numbers)
    method = build("famabpe", problem, agents=agents)
    assert method.parameters["gamma"] == 1 / (2 * agents * len(pulls))
    compare(method, pulls, sums, famabpe(pulls, sums, problem, agents, 1 / (2 * agents * len(pulls))))
    assert method.plan(Tally.of(pulls, sums)).counts == (sum(pulls) // (2 * agents * len(pulls)) + 1,)


@given(tallies(), problems)
@settings(deadline=None, max_examples=200)
def test_ugapec(tally: tuple[list[int], Vector], numbers: tuple[float, float, float]) -> None:
    pulls, sums = tally
    problem = problem_of(len(pulls), numbers)
    expected = ugapec(pulls, sums, problem)
    method = build("ugapec", problem)
    compare(method, pulls, sums, expected)
    plan = method.plan(Tally.of(pulls, sums))
    if expected.clear:
        i, j = expected.leader, expected.challenger
        assert plan.arms == (i if pulls[i] <= pulls[j] else j,)
    assert plan.counts == (1,)


@pytest.mark.parametrize("selection", ["ratio", "greedy"])
@given(
    tally=linear_tallies(),
    numbers=problems,
    agents=st.integers(1, 20),
    gamma1=st.floats(1e-3, 3.0),
    gamma2=st.fractions(Fraction(1, 500), 1, max_denominator=500),
    lam=st.floats(0.05, 5.0),
)
@settings(deadline=None, max_examples=100)
def test_falinpe(
    selection: str,
    tally: tuple[list[Vector], list[int], Vector],
    numbers: tuple[float, float, float],
    agents: int,
    gamma1: float,
    gamma2: Fraction,
    lam: float,
) -> None:
    features, pulls, sums = tally
    problem = problem_of(len(pulls), numbers, features)
    method = build(
        "falinpe", problem, agents=agents, gamma1=gamma1, gamma2=float(gamma2), lambda_=lam, selection=selection
    )
    scale = falinpe_scale(sum(pulls), len(features[0]), problem, agents, gamma1, float(gamma2), lam)
    expected = linear(features, pulls, sums, lam, scale)
    compare(method, pulls, sums, expected)
    if not expected.clear:
        return
    plan = method.plan(Tally.of(pulls, sums))
    i, j = expected.leader, expected.challenger
    if selection == "greedy":
        arm, clear = greedy_arm(features, pulls, lam, i, j)
    else:
        weights = minimal_weights(np.array(features), np.array(minus(features[i], features[j])))
        behind = {k: -pulls[k] / abs(w) for k, w in enumerate(weights.tolist()) if w != 0}
        arm, clear = argmax(behind)
    if clear:
        assert plan.arms == (arm,)
    # The smaller of the two triggers, for the arm that is pulled.
    x = features[plan.arms[0]]
    length = dot(x, solve(ridge_matrix(features, pulls, lam), x))
    n = 1
    while n * length <= gamma1 and n <= gamma2 * sum(pulls):
        assume(abs(n * length - gamma1) > 1e-9)  # else rounding decides
        n += 1
    assume(abs(n * length - gamma1) > 1e-9)
    assert plan.counts == (n,)


@given(linear_tallies(), problems, st.integers(1, 30))
@settings(deadline=None, max_examples=50)
def test_falinpes_defaults_are_the_theorems(
    tally: tuple[list[Vector], list[int], Vector], numbers: tuple[float, float, float], agents: int
) -> None:
    features, pulls, sums = tally
    problem = problem_of(len(pulls), numbers, features)
    g1, g2 = 1 / agents**2, 1 / (2 * agents * len(pulls))
    lam = (
        sigma_of(problem) ** 2
        * (math.sqrt(1 + g1 * agents) + math.sqrt(2 * g1) * agents) ** 2
        * math.log(2 / problem.delta)
    )
    method = build("falinpe", problem, agents=agents)
    assert method.parameters["lambda"] == pytest.approx(lam, rel=1e-12)
    scale = falinpe_scale(sum(pulls), len(features[0]), problem, agents, g1, g2, lam)
    compare(method, pulls, sums, linear(features, pulls, sums, lam, scale))


def test_the_regulariser_of_the_reference_instance() -> None:
    """M = 10, σ = 0.3, δ = 0.05: λ = 2.014."""
    problem = Problem(["A", "B"], sigma=0.3, delta=0.05, features=[[1.0, 0.0], [0.0, 1.0]])
    assert build("falinpe", problem, agents=10).parameters["lambda"] == pytest.approx(2.014, abs=5e-4)


@given(linear_tallies(), problems, st.floats(0.05, 5.0))
@settings(deadline=None, max_examples=150)
def test_lingape(
    tally: tuple[list[Vector], list[int], Vector], numbers: tuple[float, float, float], lam: float
) -> None:
    features, pulls, sums = tally
    problem = problem_of(len(pulls), numbers, features)
    method = build("lingape", problem, lambda_=lam)
    expected = linear(features, pulls, sums, lam, lingape_scale(features, pulls, problem, lam))
    compare(method, pulls, sums, expected)
    plan = method.plan(Tally.of(pulls, sums))
    assert plan.counts == (1,)
    if expected.clear:
        arm, clear = greedy_arm(features, pulls, lam, expected.leader, expected.challenger)
        if clear:
            assert plan.arms == (arm,)


def test_lingapes_regulariser_is_one() -> None:
    problem = Problem(["A", "B"], sigma=0.3, features=[[1.0, 0.0], [0.0, 1.0]])
    assert build("lingape", problem).setting.regulariser == 1.0
    assert build("sync-lingape", problem).setting.regulariser == 1.0


# sharp


def evidence_of_span(features: list[Vector], pulls: list[int], sums: Vector, p: Problem, rho: float) -> float:
    """The smallest ratio over j of the span test's left to its right side.

    In the features' own coordinates, which have full rank here: L₀ = ρ X'X.
    """
    d, arms = len(features[0]), len(features)
    a, l0 = (
        ridge_matrix(features, pulls, 0.0),
        [[rho * x for x in row] for row in ridge_matrix(features, [1] * arms, 0.0)],
    )
    theta = solve(a, [math.fsum(s * x[r] for s, x in zip(sums, features, strict=True)) for r in range(d)])
    both = [[u + v for u, v in zip(left, right, strict=True)] for left, right in zip(a, l0, strict=True)]
    right = math.log(1 / p.delta) + 0.5 * math.log(determinant(both) / determinant(l0))
    i, clear = argmax({k: dot(features[k], theta) for k in range(arms)})
    assume(clear)  # else rounding decides who leads
    ratios = []
    for j in range(arms):
        if j != i:
            y = minus(features[i], features[j])
            z = solve(a, y)
            q = dot(y, z) + dot(z, [dot(row, z) for row in l0])
            ratios.append(max(dot(y, theta) + p.epsilon, 0) ** 2 / (2 * sigma_of(p) ** 2 * q) / right)
    return min(ratios)


@given(linear_tallies(), problems, st.floats(0.5, 50.0))
@settings(deadline=None, max_examples=150)
def test_sharps_span_test(
    tally: tuple[list[Vector], list[int], Vector], numbers: tuple[float, float, float], rho: float
) -> None:
    features, pulls, sums = tally
    d = len(features[0])
    assume(np.linalg.matrix_rank(np.array(features)) == d)
    assume(np.linalg.cond(np.array(features)) < 1e3)
    problem = problem_of(len(pulls), numbers, features)
    method = build("sharp", problem, agents=3, pseudo_count=rho, stopping="span")
    verdict = method.verdict(Tally.of(pulls, sums))
    evidence = evidence_of_span(features, pulls, sums, problem, rho)
    assert verdict.evidence == pytest.approx(evidence, rel=1e-6, abs=1e-9)
    assume(abs(evidence - 1) > 1e-6)
    assert verdict.stopped is (evidence >= 1)


@given(tallies(), problems, st.integers(1, 30), st.sampled_from(["samples", "balanced", "messages"]))
@settings(deadline=None)
def test_sharps_batch(
    tally: tuple[list[int], Vector], numbers: tuple[float, float, float], agents: int, thrift: str
) -> None:
    """max(1, ⌈min(max(c·R, a·N), h·N, N + 100K)/M⌉) with R = N(1/e − 1)."""
    pulls, sums = tally
    method = build("sharp", problem_of(len(pulls), numbers), agents=agents, thrift=thrift, stopping="pairs")
    evidence, samples = method.verdict(Tally.of(pulls, sums)).evidence, sum(pulls)
    missing = samples * (1 / evidence - 1) if evidence > 1e-9 else math.inf
    a, h, c = method.setting.growth, method.setting.reach, method.setting.aim
    together = min(max(c * missing, a * samples), h * samples, samples + 100 * len(pulls)) / agents
    assume(abs(together - round(together)) > 1e-9)
    assert method.plan(Tally.of(pulls, sums)).size == max(1, math.ceil(together))


@given(tallies(), st.floats(0.05, 2.0))
@settings(deadline=None, max_examples=150)
def test_sharps_arm(tally: tuple[list[int], Vector], sigma: float) -> None:
    """A batch of one pull: the floor, then the balance of an optimistic leader and its cheapest challenger."""
    pulls, sums = tally
    arms, n = range(len(pulls)), sum(pulls)
    problem = problem_of(len(pulls), (sigma, 0.05, 0.0))
    method = build("sharp", problem, stopping="pairs", trigger="every-pull")
    (arm,) = method.plan(Tally.of(pulls, sums)).arms
    if min(pulls) < min(math.sqrt(5 * n / len(pulls)), n / (4 * len(pulls))):
        assert arm == pulls.index(min(pulls))
        return
    means = [s / t for s, t in zip(sums, pulls, strict=True)]
    i, clear = argmax({k: means[k] + sigma * math.sqrt(2 * math.log(n) / pulls[k]) for k in arms})
    assume(clear)
    if pulls[i] ** 2 < sum(pulls[k] ** 2 for k in arms if k != i):
        assert arm == i
        return
    cost = {
        k: max(means[i] - means[k], 0) ** 2 / (2 * sigma**2 * (1 / pulls[i] + 1 / pulls[k]))
        + math.log(pulls[k])
        for k in arms
        if k != i
    }
    challenger, clear = argmax({k: -value for k, value in cost.items()})
    assume(clear)
    assert arm == challenger


# Ties go to the lowest index

SQUARE = np.eye(4).tolist()


@pytest.mark.parametrize("name", ["famabpe", "ugapec", "falinpe", "lingape", "sharp"])
def test_ties_go_to_the_lowest_index(name: str) -> None:
    """Four arms that look the same in every way; then the last two lead, then they are the challengers."""
    linear_methods = ("falinpe", "lingape")
    problem = problem_of(4, (0.3, 0.05, 0.0), SQUARE if name in linear_methods else None)
    method = build(name, problem, agents=2, **({"stopping": "pairs"} if name == "sharp" else {}))
    for sums, leader, challenger in [
        ([5.0, 5.0, 5.0, 5.0], 0, 1),
        ([1.0, 1.0, 5.0, 5.0], 2, 3),
        ([5.0, 1.0, 1.0, 1.0], 0, 1),
        ([1.0, 5.0, 1.0, 1.0], 1, 0),
        ([1.0, 1.0, 1.0, 5.0], 3, 0),
    ]:
        reading = method.read(method.begin(Tally.of([10] * 4, sums)))
        assert (reading.leader, reading.challenger) == (leader, challenger)


@pytest.mark.parametrize("name", ["famabpe", "ugapec"])
@pytest.mark.parametrize(("pulls", "arm"), [([10, 10], 0), ([11, 10], 1), ([10, 11], 0)])
def test_of_leader_and_challenger_the_leader_on_a_tie(name: str, pulls: list[int], arm: int) -> None:
    method = build(name, problem_of(2, (0.3, 0.05, 0.0)), agents=2)
    assert method.plan(Tally.of(pulls, [pulls[0] * 1.0, pulls[1] * 0.5])).arms == (arm,)
    assert method.plan(Tally.of(pulls[::-1], [pulls[1] * 0.5, pulls[0] * 1.0])).arms == (1 - arm,)


@pytest.mark.parametrize("selection", ["ratio", "greedy"])
def test_a_selection_takes_the_lowest_of_equals(selection: str) -> None:
    """Orthogonal arms: leader and challenger tell equally much, whatever their order."""
    problem = problem_of(4, (0.3, 0.05, 0.0), SQUARE)
    method = build("falinpe", problem, agents=2, selection=selection)
    assert method.plan(Tally.of([10] * 4, [1.0, 1.0, 2.0, 1.0])).arms == (0,)
    assert method.plan(Tally.of([10] * 4, [1.0, 1.0, 2.0, 1.5])).arms == (2,)
    assert method.plan(Tally.of([10, 10, 11, 10], [1.0, 1.0, 2.0, 1.6])).arms == (3,)


def test_ratio_leaves_out_arms_without_weight() -> None:
    """The third arm has no part in the difference of the first two, so it is never pulled for it."""
    features = [[0.9, 0.0, 0.0], [0.0, 0.9, 0.0], [0.0, 0.0, 0.9]]
    method = build("falinpe", problem_of(3, (0.3, 0.05, 0.0), features), agents=2)
    assert method.plan(Tally.of([500, 400, 1], [450.0, 300.0, -9.0])).arms == (1,)


def test_a_shorter_way_to_tell_two_arms_apart() -> None:
    """An arm along the difference tells more than the two arms themselves: both selections take it."""
    features = [[0.5, 0.5], [0.5, 0.3], [0.0, 1.0]]
    problem = problem_of(3, (0.3, 0.05, 0.0), features)
    for selection in ("ratio", "greedy"):
        method = build("falinpe", problem, agents=2, selection=selection)
        tally = Tally.of([10**6] * 3, [5.5e5, 5.3e5, 1e5])
        assert method.read(method.begin(tally))[:2] == (0, 1)
        assert method.plan(tally).arms == (2,)


def test_two_arms_with_the_same_features_still_have_a_plan() -> None:
    with pytest.warns(ProblemWarning, match="have the same features"):
        problem = problem_of(2, (0.3, 0.05, 0.0), [[0.6, 0.8], [0.6, 0.8]])
    method = build("falinpe", problem, agents=2)
    tally = Tally.of([3, 4], [1.0, 1.0])
    assert method.plan(tally).size >= 1
    assert method.verdict(tally).stopped  # neither can be better than the other


# Parameters

PLAIN = problem_of(3, (0.3, 0.05, 0.0))
LINEAR = problem_of(3, (0.3, 0.05, 0.0), [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("famapbe", {}, "method is 'famapbe'; it must be one of sharp, famabpe, …. Did you mean famabpe?"),
        ("best", {}, "method is 'best'; it must be one of sharp, famabpe, falinpe, ugapec, …."),
        ("famabpe", {"gama": 0.1}, "famabpe has no parameter 'gama'; it has gamma, …. Did you mean gamma?"),
        ("ugapec", {"gamma": 0.1}, "ugapec has no parameter 'gamma'; it has stopping, selection, trigger."),
        ("famabpe", {"period": 10}, "famabpe has no parameter 'period'; it has …."),
        ("famabpe", {"gamma": 0}, "famabpe: gamma is 0; it must be a number above 0."),
        ("famabpe", {"gamma": -0.1}, "famabpe: gamma is -0.1; it must be a number above 0."),
        ("famabpe", {"gamma": math.nan}, "famabpe: gamma is nan; it must be a number above 0."),
        ("famabpe", {"gamma": math.inf}, "famabpe: gamma is inf; it must be a number above 0."),
        ("famabpe", {"gamma": "small"}, "famabpe: gamma is 'small'; it must be a number above 0."),
        ("famabpe", {"gamma": True}, "famabpe: gamma is True; it must be a number above 0."),
        ("famabpe", {"gamma": 1e-13}, "famabpe: gamma is 1e-13; it must lie between 1e-12 and 1000."),
        ("famabpe", {"gamma": 1e7}, "famabpe: gamma is 10000000.0; it must lie between 1e-12 and 1000."),
        ("famabpe", {"min_batch": 0}, "famabpe: min_batch is 0; it must be a whole number of at least 1."),
        ("famabpe", {"min_batch": 1.5}, "famabpe: min_batch is 1.5; it must be a whole number of at least 1."),
        (
            "famabpe",
            {"stopping": "soon"},
            "famabpe: stopping is 'soon'; it must be one of famabpe, ugapec, ….",
        ),
        ("famabpe", {"selection": 3}, "famabpe: selection is 3; it must be one of balance, ratio, …."),
        ("famabpe", {"trigger": ""}, "famabpe: trigger is ''; it must be one of count, determinant, …."),
        ("famabpe", {"stopping": "falinpe"}, "famabpe with stopping=falinpe, … works with features, and …."),
        ("famabpe", {"selection": "ratio"}, "famabpe with … works with features, and …."),
        ("famabpe", {"trigger": "determinant"}, "famabpe with … works with features, and …."),
        ("falinpe", {}, "falinpe with … works with features, and problem … has none: add feature columns …."),
        (
            "sharp",
            {"thrift": "greed"},
            "sharp: thrift is 'greed'; it must be one of samples, balanced, messages.",
        ),
        ("sharp", {"pseudo_count": 0}, "sharp: pseudo_count is 0; it must be a number above 0."),
        ("sync-ugapec", {"period": 0}, "sync-ugapec: period is 0; it must be a whole number of at least 1."),
        (
            "sync-ugapec",
            {"period": 2.5},
            "sync-ugapec: period is 2.5; it must be a whole number of at least 1.",
        ),
        (
            "sync-ugapec",
            {"period_counts": "both"},
            "sync-ugapec: period_counts is 'both'; it must be one of ….",
        ),
    ],
)
def test_a_wrong_parameter_is_one_sentence(name: str, parameters: dict[str, Any], sentence: str) -> None:
    refused(lambda: build(name, PLAIN, agents=3, **parameters), sentence)


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("falinpe", {"gamma1": -1}, "falinpe: gamma1 is -1; it must be a number above 0."),
        ("falinpe", {"gamma2": 0.0}, "falinpe: gamma2 is 0.0; it must be a number above 0."),
        ("falinpe", {"lambda_": 0}, "falinpe: lambda is 0; it must be a number above 0."),
        (
            "falinpe",
            {"stopping": "pairs"},
            "falinpe with … does not fit together: determinant needs stopping=falinpe, ….",
        ),
        (
            "famabpe",
            {"selection": "greedy"},
            "famabpe with … does not fit together: greedy needs stopping=falinpe, ….",
        ),
        ("lingape", {"lambda": "big"}, "lingape: lambda is 'big'; it must be a number above 0."),
    ],
)
def test_a_wrong_parameter_of_a_linear_method_too(name: str, parameters: dict[str, Any], sentence: str) -> None:
    refused(lambda: build(name, LINEAR, agents=3, **parameters), sentence)


@pytest.mark.parametrize("agents", [0, -1, 1.0, True, "3", None])
def test_agents_must_be_a_whole_number(agents: Any) -> None:
    refused(
        lambda: build("famabpe", PLAIN, agents=agents), f"agents is {agents!r}; it must be a whole number …1."
    )


@pytest.mark.parametrize("setting", ["gamma", "=3", "gamma=", ""])
def test_settings_must_be_name_and_value(setting: str) -> None:
    refused(lambda: parse_parameters([setting]), f"--set takes name=value, … it got {setting!r}.")


def refused(make: Callable[[], object], sentence: str) -> None:
    """A UserError with the sentence; … stands for any text."""
    with pytest.raises(UserError) as caught:
        make()
    text, place = str(caught.value), 0
    assert "\n" not in text
    parts = sentence.split("…")
    assert text.startswith(parts[0])
    assert text.endswith(parts[-1])
    for part in parts:
        place = text.find(part, place)
        assert place >= 0, text
        place += len(part)


def test_what_is_not_given_takes_the_default() -> None:
    for name, recipe in METHODS.items():
        test = TESTS[str(recipe.defaults(PLAIN, 4)["stopping"])]
        problem = LINEAR if test.model.linear else YES_OR_NO if test.yes_no else PLAIN
        method = build(name, problem, agents=4)
        assert method.parameters == recipe.defaults(problem, 4)
        assert method.kind is recipe.kind
        # Every default can be given, and gives the same method.
        again = build(
            name,
            problem,
            agents=4,
            **{key.replace("lambda", "lambda_"): v for key, v in method.parameters.items()},
        )
        assert again.parameters == method.parameters
        for field in (
            "gamma_over",
            "gamma_under",
            "gamma1",
            "regulariser",
            "pseudo_count",
            "growth",
            "min_batch",
        ):
            assert getattr(again.setting, field) == getattr(method.setting, field)
        assert again.rules == method.rules


@pytest.mark.parametrize("name", ["falinpe", "lingape", "sync-lingape"])
def test_long_features_are_warned_of(name: str) -> None:
    """Their guarantee assumes a length of at most 1."""
    problem = problem_of(2, (0.3, 0.05, 0.0), [[3.0, 4.0], [0.0, 1.0]])
    with pytest.warns(
        ProblemWarning, match=rf"^{name}: the longest feature vector .* has length 5, and the guar"
    ):
        build(name, problem, agents=2)


@pytest.mark.parametrize("name", ["sharp", "famabpe", "ugapec"])
def test_methods_that_do_not_need_short_features_do_not_warn(name: str) -> None:
    problem = problem_of(3, (0.3, 0.05, 0.0), [[3.0, 4.0], [0.0, 1.0], [1.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(name, problem, agents=2)


def test_features_of_length_one_up_to_rounding_are_fine() -> None:
    row = [1 / math.sqrt(3)] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build("falinpe", problem_of(2, (0.3, 0.05, 0.0), [row, [0.0, 0.0, 1.0 + 1e-12]]), agents=2)


@pytest.mark.parametrize(
    ("problem", "test"),
    [
        ({}, "rule-out"),
        ({"sigma": 0.3}, "rule-out"),
        ({"features": np.eye(3).tolist()}, "rule-out"),  # they say nothing that 3 arms would not
        ({"rewards": "yes-no"}, "two-by-two"),
        ({"reward_range": [0, 1]}, "betting"),
        ({"reward_range": [0, 1], "epsilon": 0.01}, "rule-out"),
        ({"reward_range": [0, 1], "sites": "alike"}, "betting"),
        ({"reward_range": [0, 1], "sites": "alike", "epsilon": 0.01}, "pairs"),
        ({"sites": "alike"}, "pairs"),
        ({"rewards": "yes-no", "epsilon": 0.01}, "rule-out"),
        ({"rewards": "yes-no", "sites": "alike"}, "two-by-two"),
        ({"rewards": "yes-no", "sites": "alike", "epsilon": 0.01}, "pairs"),
        ({"rewards": "yes-no", "sites": "alike", "features": [[1, 0], [0, 1], [1, 1]]}, "span"),
        ({"sigma": 0.3, "sites": "alike"}, "pairs"),
        ({"sigma": 0.3, "sites": "alike", "features": np.eye(3).tolist()}, "pairs"),
        ({"sigma": 0.3, "sites": "alike", "features": [[1, 0], [0, 1], [1, 1]]}, "span"),
        ({"sites": "alike", "features": [[1, 0], [0, 1], [1, 1]]}, "span"),
        ({"features": [[1, 0], [0, 1], [1, 1]]}, "rule-out-features"),
    ],
)
def test_sharp_takes_the_test_that_assumes_no_more_than_the_problem_says(
    problem: dict[str, Any], test: str
) -> None:
    assert build("sharp", Problem(["A", "B", "C"], **problem)).parameters["stopping"] == test


@pytest.mark.parametrize("name", ["sync-ugapec", "sync-lingape"])
def test_the_synchronous_parameters(name: str) -> None:
    problem = LINEAR if name == "sync-lingape" else PLAIN
    method = build(name, problem, agents=10)
    assert (method.kind, method.period, method.period_of_all) == (Kind.SYNCHRONOUS, 100, False)
    method = build(name, problem, agents=10, period=50, period_counts="all")
    assert (method.period, method.period_of_all) == (50, True)


def test_an_incomplete_tally_never_stops() -> None:
    method = build("famabpe", PLAIN, agents=2)
    verdict = method.verdict(Tally.of([1000, 0, 1000], [2000.0, 0.0, 0.0]))
    assert (verdict.stopped, verdict.leader, verdict.arm) == (False, "arm-0", None)
    assert math.isinf(verdict.breaking_index)
    assert verdict.evidence == 0.0
