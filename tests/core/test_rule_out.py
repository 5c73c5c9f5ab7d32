"""The parts of rule-out against independent computations, and what they must not depend on."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, gamma, halfnorm, norm

import bestarm
from bestarm.core.arrays import Flags, Floats
from bestarm.core.batch import Batch
from bestarm.core.left_over import left_over
from bestarm.core.mixture import log_below, log_worths
from bestarm.core.plan import Plan
from bestarm.core.scatter import inside_arms, log_squeezed, scatter, scatter_alike, scatter_bound
from bestarm.core.state import View
from bestarm.core.stopping.two_by_two import RATIOS, log_tables
from bestarm.core.tally import Tally
from bestarm.methods import Method

Scatter = Callable[[Floats, Flags, Batch, float], tuple[float, float]]


@pytest.mark.parametrize(("total", "weight", "sigma"), [(2.0, 10.0, 0.3), (-1.5, 4.0, 1.0), (30.0, 900.0, 0.5)])
def test_an_account_is_worth_its_mixture(total: float, weight: float, sigma: float) -> None:
    rho = 9.0
    prior = halfnorm(scale=sigma / math.sqrt(rho))

    def wealth(s: float) -> float:
        return float(np.exp(s * total / sigma**2 - s * s * weight / (2 * sigma**2)) * prior.pdf(s))

    expected, _ = quad(
        wealth, 0, 40 * sigma / math.sqrt(rho), points=[max(total / (weight + rho), 0.0)], limit=200
    )
    found = log_worths(np.array([total]), np.array([weight]), sigma, rho)[0]
    assert found == pytest.approx(math.log(expected), abs=1e-6)


@given(st.floats(-200, 40))
def test_far_tails(z: float) -> None:
    here = float(log_below(np.array([z]))[0])
    exact = float(norm.logcdf(z))
    assert exact - 2.4e-7 - 1e-12 * abs(exact) <= here <= exact  # never too high: the promise rests on it
    assert here <= float(norm.logcdf(z)) + 1e-9


def test_what_speaks_for_an_arm_never_turns_against_it() -> None:
    """Far below 0 the squares of a mixture cancel; their rounding would rule out the best of all arms."""
    random = np.random.default_rng(2)
    z = -(10.0 ** random.uniform(2.0, 12.0, 2000))
    found = log_worths(z * 10.0, np.full(z.size, 91.0), 1.0, 9.0)
    exact = math.log(2.0) - 0.5 * math.log(100.0 / 9.0) - np.log(-z * math.sqrt(2.0 * math.pi))
    assert np.allclose(found, exact, atol=2e-4)
    assert (found < 0.0).all()


def exact_log_e(x: float, freedom: float) -> float:
    """The e-process of the bound on sigma, integrated: u ~ Gamma(2, rate 2) given u > 1."""
    density = gamma(2.0, scale=0.5)

    def wealth(u: float) -> float:
        return float(np.exp(0.5 * freedom * math.log(u) - (u - 1) * x) * density.pdf(u))

    peak = max(1.0, (1.0 + 0.5 * freedom) / (2.0 + x))
    value, _ = quad(wealth, 1.0, 20.0 * peak, points=[peak, 2 * peak], limit=500)
    return math.log(value / density.sf(1.0))


@pytest.mark.parametrize("freedom", [20.0, 50.0, 300.0])
@pytest.mark.parametrize("alpha", [0.0025, 0.015])
def test_the_bound_on_sigma(freedom: float, alpha: float) -> None:
    bound = scatter_bound(freedom, freedom, alpha)  # residuals as large as they are for sigma = 1
    root = freedom / (2 * bound**2)
    assert log_squeezed(root, freedom) <= exact_log_e(root, freedom)
    assert exact_log_e(root, freedom) == pytest.approx(math.log(1 / alpha), abs=0.02)


def test_no_bound_on_sigma_from_nothing() -> None:
    assert scatter_bound(0.0, 50.0, 0.01) == math.inf
    assert scatter_bound(3.0, 2.0, 0.01) == math.inf


def test_sigma_stays_below_its_bound() -> None:
    """At all times together; and with the plain estimate in its place it does not."""
    random, runs, below, plain = np.random.default_rng(4), 4000, 0, 0
    for _ in range(runs):
        residual, freedom, fell, low = 0.0, 0, False, False
        for more in (5, 5, 10, 10, 20, 20, 40, 80, 160):
            residual, freedom = residual + random.chisquare(more), freedom + more
            fell = fell or scatter_bound(residual, float(freedom), 0.05) < 1.0
            low = low or residual / freedom < 1.0
        below, plain = below + fell, plain + low
    assert below / runs < 0.05 - 3 * math.sqrt(0.05 / runs)
    assert plain / runs > 0.5


@pytest.mark.parametrize("sites", ["differ", "alike"])
@pytest.mark.parametrize("level", [0.0, 1e9])
def test_sigma_stays_below_its_bound_where_rounding_takes_the_scatter(sites: str, level: float) -> None:
    """Whole numbers around 1e9: their squares have no digits left for how they differ."""
    problem = bestarm.Problem(["A", "B", "C"], sites=sites)
    method, random = bestarm.method("sharp", problem, 3), np.random.default_rng(3)
    ends = []
    for _ in range(30):
        state, lowest = method.begin(), math.inf
        for number in range(20):
            rewards = level + np.round(3.0 * random.standard_normal((3, 4)))
            squares = [sum(reward * reward for reward in row) for row in rewards.tolist()]
            tally = Tally.of([4] * 3, rewards.sum(axis=1).tolist(), squares)
            state = method.fold(state, tally, number % 3)
            lowest = min(lowest, scatter_bound(state.residual, state.freedom, 0.0025))
        ends.append(lowest)
    assert min(ends) > 3.0
    assert level or max(ends) < 6.0


@pytest.mark.parametrize("centre", [1e7, 3e7, 1e9])
def test_sigma_stays_below_its_bound_where_squares_are_told_around_0(centre: float) -> None:
    """A centre near the rewards does not bring back what squares of counts have lost before."""
    method = bestarm.method("sharp", bestarm.Problem(["A", "B", "C"], centre=centre), 2)
    chance, below = np.random.default_rng(3), 0
    for _ in range(30):
        state, lowest = method.begin(), math.inf
        for number in range(20):
            agent, rewards = bestarm.Agent(method), centre + chance.standard_normal((3, 4))
            agent.start(Plan((0, 1, 2), (4, 4, 4)))
            rows = {
                name: (4, sum(row), sum(reward * reward for reward in row))
                for name, row in zip("ABC", rewards.tolist(), strict=True)
            }
            state = method.fold(state, agent.tell_counts(rows).tally, number % 3)
            lowest = min(lowest, scatter_bound(state.residual, state.freedom, 0.0025))
        below += lowest < 1.0
    assert below == 0


def test_counts_of_rewards_that_never_differ_say_nothing_around_a_centre_either() -> None:
    method = bestarm.method("sharp", bestarm.Problem(["A", "B"], centre=50.0), 2)
    agent = bestarm.Agent(method)
    agent.start(Plan((0, 1), (7, 7)))
    rows = {name: (7, sum([level] * 7), sum([level**2] * 7)) for name, level in (("A", 50.3), ("B", 49.9))}
    state = method.fold(method.begin(), agent.tell_counts(rows).tally, 0)
    assert (state.residual, state.freedom) == (0.0, 0.0)


@pytest.mark.parametrize("sites", ["differ", "alike"])
def test_means_of_rewards_that_never_differ_say_nothing(sites: str) -> None:
    """Sums of 0.1 are rounded; what that leaves between batches would bound sigma by 1e-17."""
    method = bestarm.method("sharp", bestarm.Problem(["A", "B", "C"], sites=sites), 2)
    state = method.begin()
    for number in range(60):
        plan = method.make(state)
        rows = {
            arm: [n, sum([0.1 * (arm + 1)] * n), sum([(0.1 * (arm + 1)) ** 2] * n)] for arm, n in counts(plan)
        }
        state = method.fold(state, Tally.from_rows(rows, 3), number % 2)
        assert (state.residual, state.freedom) == (0.0, 0.0)
        assert not method.judge(state).stopped


def counts(plan: Plan) -> list[tuple[int, int]]:
    """Arms and pulls, of which there are not too many."""
    return [(arm, min(n, 20)) for arm, n in zip(plan.arms, plan.counts, strict=True)]


def test_a_batch_in_which_nothing_scatters_says_nothing() -> None:
    """Not even where rounding leaves something of the squares of equal numbers, as of 0.1."""
    for reward in (0.5, 0.1, 1e9 + 0.1):
        squares = sum([reward * reward] * 7)
        batch = Batch(0, np.arange(2), np.full(2, 7), np.full(2, sum([reward] * 7)), np.full(2, squares))
        assert inside_arms(batch, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize(("one", "other"), [(3, 5), (8, 2), (1, 1)])
@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_two_by_two_tables_are_fair(one: int, other: int, rate: float) -> None:
    """The mean of each factor, added up over all outcomes, is at most 1 wherever k is at least as good as i."""
    best = -math.inf
    for low, high in product(np.linspace(0.0, 1.0, 6), repeat=2):
        if low > high:
            continue
        mean = np.zeros(RATIOS.size)
        for a, b in product(range(one + 1), range(other + 1)):
            chance = binom.pmf(a, one, low) * binom.pmf(b, other, high)
            pulls, yes = (np.array([one]), np.array([other])), (np.array([float(a)]), np.array([float(b)]))
            logs = [log_tables(pulls[0], yes[0], pulls[1], yes[1], rate, float(ratio))[0] for ratio in RATIOS]
            mean += chance * np.exp(logs)
        best = max(best, float(mean.max()))
    assert best <= 1 + 1e-9
    assert best > 0.999  # nothing is given away either


def race(sigma: float | None, **others: object) -> Method:
    problem = bestarm.Problem(["A", "B", "C", "D"], sigma=sigma, **others)  # type: ignore[arg-type]
    return bestarm.method("sharp", problem, 3, stopping="rule-out", selection="race", trigger="finish")


@pytest.mark.parametrize("sigma", [0.3, None])
def test_what_is_common_to_a_batch_cancels(sigma: float | None) -> None:
    """Offsets of any size, another one in every batch, change neither evidence nor plans."""
    method, random = race(sigma), np.random.default_rng(1)
    plain, moved = method.begin(), method.begin()
    for number in range(40):
        plan = method.make(plain)
        offset = float(random.normal(0.0, 50.0))
        rows, others = {}, {}
        for arm, pulls in zip(plan.arms, plan.counts, strict=True):
            rewards = random.normal(0.5 - 0.1 * arm, 0.3, pulls)
            rows[arm] = [pulls, rewards.sum(), (rewards**2).sum()][: 2 if sigma else 3]
            rewards = rewards + offset
            others[arm] = [pulls, rewards.sum(), (rewards**2).sum()][: 2 if sigma else 3]
        plain = method.fold(plain, Tally.from_rows(rows, 4), number % 3)
        moved = method.fold(moved, Tally.from_rows(others, 4), number % 3)
        assert np.allclose(moved.odds, plain.odds, rtol=1e-6, atol=1e-6)
        assert method.make(moved) == method.make(plain)
    assert method.read(plain).evidence > 0.5


def test_a_batch_of_one_arm_tells_nothing() -> None:
    method = race(0.3)
    state = method.begin()
    for arm in range(4):
        state = method.fold(state, Tally.from_rows({arm: [1000, 1000.0 * arm]}, 4), 0)
    assert not state.accounts.any()
    assert (state.odds <= 0).all()


def test_an_arm_that_was_ruled_out_can_come_back() -> None:
    method = race(0.3)
    state = method.begin(Tally.of([30] * 4, [15.0] * 4))
    state = method.fold(state, Tally.of([40] * 4, [8.0, 20.0, 20.0, 20.0]), 0)
    assert state.odds[0] >= math.log(20)
    for _ in range(20):
        state = method.fold(state, Tally.of([40] * 4, [40.0, 20.0, 20.0, 20.0]), 0)
    assert state.odds[0] < math.log(20)
    assert method.judge(state).arm == "A"


def test_plans_have_the_leader_and_another_arm() -> None:
    method, random = race(0.3), np.random.default_rng(2)
    state = method.begin(Tally.of([1] * 4, [0.5] * 4))
    for number in range(60):
        plan = method.make(state)
        leader = method.read(state).leader
        assert leader in plan.arms
        assert len(plan.arms) > 1
        rows = {
            arm: [n, float(random.normal(0.5 * n, 0.3 * n**0.5))]
            for arm, n in zip(plan.arms, plan.counts, strict=True)
        }
        state = method.fold(state, Tally.from_rows(rows, 4), number % 3)


@pytest.mark.parametrize("row", [1, 2, 3])
def test_with_a_tolerance_each_leader_has_its_own_share_of_delta(row: int) -> None:
    """The j-th has δ/(j(j+1)), which add up to δ; rivals have none."""
    view = View(100, np.array([0.5, 0.4, 0.3]), np.empty(0), np.zeros((0, 0)), 0.0, 0.3, 1.0)
    leaders, level = np.array([-1, 0, 1, 2]), math.log(1 / 0.05)
    enough = level + math.log(row * (row + 1))
    for worth, settled in ((enough - 1e-6, False), (enough + 1e-6, True)):
        worths = np.zeros((4, 3))
        worths[0], worths[row] = 100.0, worth
        worths[row, leaders[row]] = 0.0
        ones = np.ones((4, 3))
        reading, _, _ = left_over(view, worths, ones, ones, leaders, level, 0.1)
        assert (reading.evidence >= 1.0) == settled
        assert not settled or reading.leader == leaders[row]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_without_a_tolerance_all_shares_of_an_arm_s_wealth_add_up_to_1(rows: int) -> None:
    view = View(100, np.array([0.5, 0.4, 0.3]), np.empty(0), np.zeros((0, 0)), 0.0, 0.3, 1.0)
    ones, leaders = np.ones((rows, 3)), np.array([-1, 0, 1, 2, 3])[:rows]
    _, odds, _ = left_over(view, 0.0 * ones, ones, ones, leaders, math.log(1 / 0.05), 0.0)
    assert np.allclose(odds, 0.0, atol=1e-12)


@pytest.mark.parametrize(("rule", "offset"), [(scatter, 50.0), (scatter_alike, 0.0)])
def test_sums_of_squares_have_the_degrees_of_freedom_that_are_said(rule: Scatter, offset: float) -> None:
    """Of arms that are known well, and whose values are right, it is σ²χ² with neither more nor fewer."""
    random, values, runs = np.random.default_rng(8), np.array([0.3, -1.0, 2.0, 0.0]), 3000
    pulls, sigma = np.array([1, 2, 5, 3]), 0.7
    for well in ([True] * 4, [True, False, True, False], [False] * 4, [False, True, False, False]):
        residuals, freedoms = np.zeros(runs), np.zeros(runs)
        for run in range(runs):
            common = offset * random.normal()
            pairs = zip(values, pulls, strict=True)
            rewards = [common + value + sigma * random.normal(size=n) for value, n in pairs]
            sums, squares = (np.array([(one**power).sum() for one in rewards]) for power in (1, 2))
            batch = Batch(0, np.arange(4), pulls, sums, squares)
            residuals[run], freedoms[run] = rule(values, np.array(well), batch, 0.0)
        freedom = freedoms[0]
        assert (freedoms == freedom).all()
        assert residuals.mean() / sigma**2 == pytest.approx(freedom, abs=4.0 * math.sqrt(2.0 * freedom / runs))
        assert residuals.var() / sigma**4 == pytest.approx(2.0 * freedom, rel=0.2)
