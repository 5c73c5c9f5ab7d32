"""Rule-out for arms with features against direct computations, and what it must not depend on."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm

import bestarm
from bestarm.core.arrays import Floats
from bestarm.core.directions import DEFICIT, SPREAD, TOTAL, WEIGHT, at_least, collect, directions
from bestarm.core.fit import contrasts, learn
from bestarm.core.mixture import log_worths
from bestarm.core.tally import Tally
from bestarm.methods import Method
from bestarm.methods.composed import batch_of

TESTS = ["rule-out-span", "rule-out-features"]
ARMS, DIMENSION = 8, 3


def race(stopping: str, sigma: float | None = 0.3, epsilon: float = 0.0) -> Method:
    random = np.random.default_rng(3)
    features = random.normal(size=(ARMS, DIMENSION)) / 2
    problem = bestarm.Problem(
        [f"arm-{k}" for k in range(ARMS)], features=features, sigma=sigma, epsilon=epsilon, delta=0.05
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bestarm.ProblemWarning)
        return bestarm.method("sharp", problem, 3, stopping=stopping)


def tally(method: Method, plan: Any, rewards: list[Floats]) -> Tally:
    wide = 3 if method.squares else 2
    rows = {
        arm: [own.size, own.sum(), ((own - method.setting.centre) ** 2).sum()][:wide]
        for arm, own in zip(plan.arms, rewards, strict=True)
    }
    return Tally.from_rows(rows, ARMS)


def played(method: Method, batches: int, seed: int = 1, size: float = 1.0) -> list[tuple[Any, list[Floats]]]:
    """Plans and rewards of a study; differences between arms are in proportion to `size`."""
    random, state, found = np.random.default_rng(seed), method.begin(), []
    assert method.problem.features is not None
    means = method.problem.features @ np.array([0.5, 0.1, -0.1]) * size
    for number in range(batches):
        plan = method.make(state)
        rewards: list[Floats] = [
            np.asarray(random.normal(means[arm], 0.3, n)) for arm, n in zip(plan.arms, plan.counts, strict=True)
        ]
        state = method.fold(state, tally(method, plan, rewards), number % 3)
        found.append((plan, rewards))
    return found


@pytest.mark.parametrize("stopping", TESTS)
@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_what_is_common_to_a_batch_cancels(stopping: str, sigma: float | None, epsilon: float) -> None:
    """Offsets of any size, another one in every batch, change neither evidence nor plans."""
    method, random = race(stopping, sigma, epsilon), np.random.default_rng(2)
    plain, moved = method.begin(), method.begin()
    for number, (plan, rewards) in enumerate(played(method, 30)):
        offset = float(random.normal(0.0, 50.0))
        plain = method.fold(plain, tally(method, plan, rewards), number % 3)
        moved = method.fold(moved, tally(method, plan, [own + offset for own in rewards]), number % 3)
        assert np.allclose(moved.odds, plain.odds, rtol=1e-6, atol=1e-6)
        assert method.make(moved) == method.make(plain)
    assert method.read(plain).evidence > 0.3


@pytest.mark.parametrize("stopping", TESTS)
def test_information_and_score_are_those_of_dummy_variables(stopping: str) -> None:
    """Least squares with one unknown for each batch beside the features gives the same θ̂ and the same Ã⁻¹."""
    method = race(stopping)
    features, state = method.setting.features, method.begin()
    rows, rewards, studies = [], [], played(method, 12)
    for number, (plan, results) in enumerate(studies):
        state = method.fold(state, tally(method, plan, results), 0)
        for arm, own in zip(plan.arms, results, strict=True):
            for reward in own:
                rows.append(np.concatenate([features[arm], np.eye(len(studies))[number]]))
                rewards.append(reward)
    design, rank = np.array(rows), features.shape[1]
    solution = np.linalg.lstsq(design, np.array(rewards), rcond=None)[0][:rank]
    inverse = np.linalg.inv(design.T @ design)[:rank, :rank]
    assert np.allclose(np.linalg.solve(state.information, state.score), solution)
    assert np.allclose(state.estimate.inverse, inverse)
    differences = state.estimate.values - state.estimate.values[0]
    assert np.allclose(differences, (features - features[0]) @ solution)


def test_accounts_measure_what_they_say() -> None:
    """Without noise, Z is V y'θ less what the deficit says, for every account, whatever the batches were."""
    method, theta = race("rule-out-features", epsilon=0.05), np.array([0.3, -0.2, 0.1])
    features, random, state = method.setting.features, np.random.default_rng(5), method.begin()
    for _ in range(25):
        pulls = random.integers(0, 4, ARMS) * random.integers(0, 2, ARMS) + np.eye(ARMS, dtype=int)[0]
        exact = Tally.from_rows(
            {k: [int(n), float(n * (features[k] @ theta + 7.0))] for k, n in enumerate(pulls) if n}, ARMS
        )
        state = method.fold(state, exact, 0)
    assert state.opened > 1
    for row in range(1, state.opened):
        account = state.accounts[row]
        ways = directions(state, row, method.setting)
        assert np.allclose(account[TOTAL], account[WEIGHT] * (theta @ ways) - theta @ account[DEFICIT:])
        assert (account[SPREAD] >= 0).all()
        assert (account[WEIGHT] >= 0).all()


def test_an_account_has_the_spread_that_it_says() -> None:
    """The variance of Z over many draws of one batch's noise is σ²Q, and its mean is 0 where θ is 0."""
    method, random = race("rule-out-features", epsilon=0.05), np.random.default_rng(6)
    state = method.begin()
    for number, (plan, rewards) in enumerate(played(method, 20)):
        state = method.fold(state, tally(method, plan, rewards), number % 3)
    pulls = np.array([3, 0, 2, 1, 0, 4, 1, 2])
    arms = np.flatnonzero(pulls)
    before, found = state.accounts.copy(), []
    for _ in range(4000):
        sums = random.normal(0.0, 0.3 * np.sqrt(pulls[arms]))
        batch = batch_of(
            Tally.from_rows({int(k): [int(pulls[k]), s] for k, s in zip(arms, sums, strict=True)}, ARMS), 0
        )
        state.accounts[:] = before
        state.accounts[:, TOTAL:SPREAD] = 0.0
        spread = state.accounts[1, SPREAD].copy()
        collect(state, *contrasts(batch, method.setting.features), int(pulls.sum()), method.setting)
        found.append(state.accounts[1, TOTAL].copy())
    grown = state.accounts[1, SPREAD] - spread
    others = np.arange(ARMS) != state.leaders[1]
    ratio = np.var(found, axis=0)[others] / (0.09 * grown[others])
    assert (np.abs(ratio - 1.0) < 0.12).all()
    assert (np.abs(np.mean(found, axis=0))[others] < 5 * 0.3 * np.sqrt(grown[others] / 4000)).all()


class ByHand:
    """The accounts trial by trial: rows of a design less their batch's mean, pseudo-inverses, and integrals.

    An account's weights are those of least squares in this batch and in the earlier ones, scaled to what later
    ones are expected to bring, stacked; its deficit is kept by its definition, `Σ w y − Σ A_bg`.
    """

    def __init__(self, features: Floats, epsilon: float, rho: float) -> None:
        self.features, self.epsilon, self.rho = features, epsilon, rho
        self.past, self.rewards = np.zeros((0, features.shape[1])), np.zeros(0)
        self.leaders: list[int | None] = [None]  # of row 0: whoever is the best of the others
        self.accounts = [self.nothing()]

    def nothing(self) -> list[Any]:
        return [[0.0, 0.0, 0.0, np.zeros(self.features.shape[1])] for _ in self.features]

    def theta(self) -> Floats:
        return np.asarray(np.linalg.lstsq(self.past, self.rewards, rcond=None)[0])

    def add(self, arms: list[int], rewards: list[Floats]) -> None:
        sizes = [own.size for own in rewards]
        rows = self.features[np.repeat(arms, sizes)]
        rows = rows - rows.mean(axis=0)
        told = np.concatenate(rewards)
        if np.linalg.matrix_rank(self.past) == self.features.shape[1]:
            for leader, accounts in zip(self.leaders, self.accounts, strict=True):
                for k, account in enumerate(accounts):
                    self.enter(account, self.way(leader, k), rows, told)
        self.past = np.concatenate([self.past, rows])
        self.rewards = np.concatenate([self.rewards, told])
        first = int(np.argmax(self.features @ self.theta()))
        if len(self.rewards) >= 20 * self.features.shape[1] and first not in self.leaders:
            self.leaders.append(first)
            self.accounts.append(self.nothing())

    def way(self, leader: int | None, k: int) -> Floats:
        if leader is None:
            order = np.argsort(-(self.features @ self.theta()), kind="stable")
            leader = int(order[0] if order[0] != k else order[1])
        return np.asarray(self.features[leader] - self.features[k])

    def enter(self, account: list[Any], way: Floats, rows: Floats, told: Floats) -> None:
        if not way.any() and not account[3].any():
            return
        ahead = math.sqrt(max(2 * self.features.shape[1], len(told)) / len(self.rewards))
        alone, stacked = np.linalg.pinv(ahead * self.past), np.linalg.pinv(np.vstack([rows, ahead * self.past]))
        later = 1.0 / ((way @ alone) ** 2).sum() if way.any() else 0.0
        together = 1.0 / ((way @ stacked) ** 2).sum() if way.any() else 0.0
        weights = rows @ (stacked @ (stacked.T @ (account[3] + together * way)))
        account[0] += weights @ told
        account[1] += together - later
        account[2] += weights @ weights
        account[3] = account[3] + (together - later) * way - rows.T @ weights

    def log_worth(self, account: list[Any], sigma: float, delta: float) -> float:
        """The mixture over slopes, integrated, of what the account is sure to have."""
        total, weight, spread, deficit = account
        known, identity = self.past.T @ self.past, np.eye(self.features.shape[1])
        mapped = np.linalg.solve(known, deficit)
        length = math.sqrt(mapped @ (known + self.rho * identity) @ mapped)
        scale = sigma * math.sqrt(2 * math.log(20 / delta) + np.linalg.slogdet(identity + known / self.rho)[1])
        total = total + deficit @ self.theta() - scale * length + self.epsilon * weight
        prior, peak = halfnorm(scale=sigma / math.sqrt(self.rho)), max(total / (spread + self.rho), 0.0)
        height = peak * total / sigma**2 - peak**2 * spread / (2 * sigma**2)

        def wealth(s: float) -> float:
            return float(
                math.exp(s * total / sigma**2 - s * s * spread / (2 * sigma**2) - height) * prior.pdf(s)
            )

        width = sigma / math.sqrt(spread + self.rho)
        ends = max(peak - 12 * width, 0.0), peak + 12 * width
        return float(math.log(quad(wealth, *ends, points=[max(peak, 1e-12)], limit=200)[0]) + height)


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_the_accounts_are_those_of_an_independent_computation(epsilon: float) -> None:
    method = race("rule-out-features", epsilon=epsilon)
    setting, state = method.setting, method.begin()
    by_hand, delta, compared = ByHand(setting.features, epsilon, setting.pseudo_count), setting.delta, 0
    for number, (plan, rewards) in enumerate(played(method, 14, size=0.2)):
        state = method.fold(state, tally(method, plan, rewards), number % 3)
        by_hand.add(list(plan.arms), rewards)
        assert by_hand.leaders[1:] == state.leaders[1 : state.opened].tolist()
        for row, accounts in enumerate(by_hand.accounts):
            own = np.array([[z, v, q, *e] for z, v, q, e in accounts]).T
            assert np.allclose(state.accounts[row], own, rtol=1e-6, atol=1e-7)
        if not state.determined:
            continue
        logs = np.array(
            [[by_hand.log_worth(one, 0.3, delta) for one in row] for row in by_hand.accounts]
        ) + math.log(0.95)
        shares = [1.0 / (j * (j + 1)) for j in range(1, len(logs))]
        if epsilon == 0.0:
            wealth = 0.9 * np.exp(logs[0]) + 0.1 / len(logs)
            for share, row in zip(shares, logs[1:], strict=True):
                wealth = wealth + 0.1 * share * np.exp(row)
            expected = np.log(wealth)
        elif state.reading.leader in by_hand.leaders:
            j = by_hand.leaders.index(state.reading.leader)
            expected = logs[j] + math.log(shares[j - 1])
        else:
            continue
        # Where all directions at once rule an arm out, it is at the level, whatever its account says.
        for k in range(ARMS):
            if k != state.reading.leader and state.odds[k] < math.log(1 / delta):
                assert state.odds[k] == pytest.approx(expected[k], abs=1e-5)
                compared += 1
    assert compared > 20


@pytest.mark.parametrize("stopping", TESTS)
def test_a_batch_of_one_arm_tells_nothing(stopping: str) -> None:
    method = race(stopping)
    state = method.begin()
    for arm in range(ARMS):
        state = method.fold(state, Tally.from_rows({arm: [1000, 1000.0 * arm]}, ARMS), 0)
    assert not state.determined
    assert not state.information.any()
    assert method.read(state).evidence < 0.01
    assert len(method.make(state).arms) > 1


@pytest.mark.parametrize("stopping", TESTS)
def test_twins_do_not_keep_each_other_in_the_race(stopping: str) -> None:
    """Of two arms with the same features neither can be better, so one of them may be the answer."""
    features = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.4, 0.4]]
    with pytest.warns(bestarm.ProblemWarning, match="have the same features"):
        problem = bestarm.Problem(list("abcd"), features=features, theta=[0.9, 0.1], sigma=0.1)
    result = bestarm.simulate(
        problem, "sharp", agents=3, runs=20, seed=1, stopping=stopping, max_samples=20_000
    )
    assert result.unfinished == 0
    assert result.wrong == 0


def test_the_deficit_must_be_paid() -> None:
    """Two arms that are equally good, two that are far worse, and batches of two arms, each unlike the last.

    An account of one of the good arms against the other may reach 1/δ in a share δ of the studies. What a batch
    leaves over points to the bad arms, and Z alone takes it for evidence.
    """
    features = [[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.0]]
    problem = bestarm.Problem(list("abcd"), features=features, sigma=0.3, sites="differ")
    method = bestarm.method("sharp", problem, 3, stopping="rule-out-features")
    setting, random, studies, delta = method.setting, np.random.default_rng(8), 150, problem.delta
    rho, level, means = setting.pseudo_count, math.log(1.0 / (0.95 * delta)), np.array([0.0, 0.0, -3.0, -3.0])
    paid = unpaid = 0
    for _ in range(studies):
        state, highest, alone = method.begin(), -np.inf, -np.inf
        for number in range(25):
            arms = np.arange(4) if number < 2 else np.sort(random.choice(4, 2, replace=False))
            rows = {int(k): [4, float(random.normal(4 * means[k], 0.3 * 2.0))] for k in arms}
            batch = batch_of(Tally.from_rows(rows, 4), 0)
            information, score = contrasts(batch, setting.features)
            if state.determined:
                collect(state, information, score, int(batch.pulls.sum()), setting)
            state = learn(state, batch, information, score, rho, setting)
            if not state.determined:
                continue
            scale = 0.3 * math.sqrt(2.0 * math.log(20.0 / delta) + state.estimate.log_det)
            account = state.accounts[0]
            sure = at_least(account, state, rho, scale)
            for totals, is_paid in ((sure, True), (account[TOTAL], False)):
                worth = log_worths(totals, account[SPREAD], 0.3, setting.pseudo_count)[:2].max()
                highest, alone = (max(highest, worth), alone) if is_paid else (highest, max(alone, worth))
        paid, unpaid = paid + (highest >= level), unpaid + (alone >= level)
    assert paid / studies <= delta
    assert unpaid / studies > 0.5
