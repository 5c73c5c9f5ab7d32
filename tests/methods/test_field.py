"""The methods of the field beside independent implementations, and where one is known to fail."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest

import bestarm
from bestarm.core.selection.top_two import cheapest
from bestarm.methods import METHODS, SELECTIONS

MEANS = [0.9, 0.6, 0.4]
SIGMA, DELTA, RUNS = 0.3, 0.1, 60
PROBLEM = bestarm.Problem.quick(MEANS, sigma=SIGMA, delta=DELTA)


def pull(chance: random.Random, arm: int) -> float:
    return chance.gauss(MEANS[arm], SIGMA)


def plain_lucb(chance: random.Random) -> int:
    """LUCB from its paper, with σ in the place of ½."""
    rewards = [[pull(chance, arm)] for arm in range(3)]
    rounds = 1
    while True:
        level = math.log(1.25 * 3 * rounds**4 / DELTA)
        means = [statistics.fmean(each) for each in rewards]
        radii = [SIGMA * math.sqrt(2 * level / len(each)) for each in rewards]
        best = max(range(3), key=lambda arm: means[arm])
        rival = max((arm for arm in range(3) if arm != best), key=lambda arm: means[arm] + radii[arm])
        if means[rival] + radii[rival] <= means[best] - radii[best]:
            return sum(map(len, rewards))
        for arm in (best, rival):
            rewards[arm].append(pull(chance, arm))
        rounds += 1


def plain_elimination(chance: random.Random) -> int:
    """Successive elimination with Hoeffding's radius for σ."""
    left, rewards, rounds = [0, 1, 2], [[pull(chance, arm)] for arm in range(3)], 1
    while True:
        means = {arm: statistics.fmean(rewards[arm]) for arm in left}
        width = 2 * SIGMA * math.sqrt(2 / rounds * math.log(4 * 3 * rounds**2 / DELTA))
        left = [arm for arm in left if max(means.values()) - means[arm] < width]
        if len(left) == 1:
            return sum(map(len, rewards))
        for arm in left:
            rewards[arm].append(pull(chance, arm))
        rounds += 1


def plain_eb_tci(chance: random.Random) -> int:
    """EB-TCI under the heuristic threshold."""
    rewards = [[pull(chance, arm)] for arm in range(3)]
    while True:
        counts, means = [len(each) for each in rewards], [statistics.fmean(each) for each in rewards]
        best = max(range(3), key=lambda arm: means[arm])
        costs = {
            arm: (means[best] - means[arm]) ** 2 / (2 * SIGMA**2 * (1 / counts[best] + 1 / counts[arm]))
            for arm in range(3)
            if arm != best
        }
        if min(costs.values()) >= math.log((1 + math.log(sum(counts))) / DELTA):
            return sum(counts)
        rival = min(costs, key=lambda arm: costs[arm] + math.log(counts[arm]))
        chosen = best if chance.random() < 0.5 else rival
        rewards[chosen].append(pull(chance, chosen))


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("lucb", plain_lucb),
        ("elimination", plain_elimination),
        ("eb-tci:threshold=heuristic", plain_eb_tci),
    ],
)
def test_samples_are_those_of_an_independent_implementation(
    name: str, plain: Callable[[random.Random], int]
) -> None:
    ours = bestarm.simulate(PROBLEM, name, runs=RUNS, engine="rounds").summary()
    chance = random.Random(5)
    theirs = [plain(chance) for _ in range(RUNS)]
    error = math.hypot(ours.stderr, statistics.stdev(theirs) / math.sqrt(RUNS))
    assert abs(ours.mean - statistics.fmean(theirs)) < 3 * error


def test_looking_at_a_p_value_after_every_pull_breaks_delta() -> None:
    close = bestarm.Problem.quick([0.5, 0.49], sigma=0.3, delta=0.05)
    found = bestarm.compare(close, "peeking", runs=100, engine="rounds", max_samples=600)
    (row,) = found.rows
    assert row["broken"]
    assert not row["promised"]
    assert not bestarm.method("peeking", close).proven


@pytest.mark.parametrize("pulls", [1_000, 1_000_000])
def test_without_its_added_logarithm_eb_tc_gets_stuck(pulls: int) -> None:
    """The best arm started badly, and two others are equal: however long it takes, it is not tried again."""
    start = bestarm.Tally.of([1, pulls, pulls], [-0.6, 0.5 * pulls, 0.5 * pulls])
    for name, tried in (("eb-tc", 2), ("eb-tci", 0)):
        method = bestarm.method(name, PROBLEM)
        state = method.begin(start)
        penalty = 1.0 if name == "eb-tci" else 0.0
        assert cheapest(state, 1, penalty, method.setting) == tried
        if name == "eb-tc":
            assert all(method.make(state).arms[0] != 0 for _ in range(5))


def test_a_heuristic_promises_nothing() -> None:
    assert bestarm.method("track-and-stop", PROBLEM).proven
    assert not bestarm.method("track-and-stop", PROBLEM, threshold="heuristic").proven
    assert bestarm.method("track-and-stop", PROBLEM, threshold="heuristic", stopping="pairs").proven


def test_every_method_of_the_field_says_when_to_take_it() -> None:
    assert all(recipe.when for recipe in METHODS.values() if recipe.field)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kl-lucb", "is for yes/no outcomes"),
        ("famabpe:selection=t3c", "is for a single agent"),
        ("eb-tci:stopping=lil-ucb", "needs selection=lil-ucb"),
        ("sharp:", "a name with settings after colons"),
    ],
)
def test_what_does_not_fit_is_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(bestarm.UserError, match=sentence):
        bestarm.simulate(PROBLEM, name, runs=1, engine="rounds")


def test_budgets_are_kept() -> None:
    for name in ("halving", "rejects", "even-shares"):
        found = bestarm.simulate(PROBLEM, name, runs=5, engine="rounds", budget=60)
        assert found.samples.max() <= 60
        assert found.unfinished == 0


CIRCLE = [(math.cos(0.35 * k), math.sin(0.35 * k)) for k in range(5)]
THETA = (math.cos(0.15), math.sin(0.15))
PHASED = bestarm.Problem(
    [f"arm-{k}" for k in range(5)], features=CIRCLE, theta=THETA, sigma=SIGMA, delta=DELTA, sites="alike"
)


def plain_rage(chance: random.Random) -> int:
    """RAGE in two dimensions, with a design that is searched on a grid of pairs of arms."""
    left, samples, phase = list(range(5)), 5, 0
    while len(left) > 1:
        phase += 1
        level = math.log(2 * 25 * phase**2 / DELTA)
        shares, worst = design_on_a_grid(left)
        support = len(shares)
        wanted = max(math.ceil(8 * 4 ** (phase - 1) * SIGMA**2 * worst * 1.1 * level), 20 * support)
        counts = {arm: round(share * wanted) for arm, share in shares.items()}
        inverse = inverse_of({arm: float(count) for arm, count in counts.items()})
        score = [0.0, 0.0]
        for arm, count in counts.items():
            mean = CIRCLE[arm][0] * THETA[0] + CIRCLE[arm][1] * THETA[1]
            total = chance.gauss(count * mean, SIGMA * math.sqrt(count))
            score = [score[0] + CIRCLE[arm][0] * total, score[1] + CIRCLE[arm][1] * total]
        samples += sum(counts.values())
        theta = [inverse[row][0] * score[0] + inverse[row][1] * score[1] for row in (0, 1)]

        def behind(k: int, i: int, theta: list[float] = theta, inverse=inverse, level: float = level) -> bool:
            y = (CIRCLE[i][0] - CIRCLE[k][0], CIRCLE[i][1] - CIRCLE[k][1])
            ahead = y[0] * theta[0] + y[1] * theta[1]
            return i != k and ahead >= SIGMA * math.sqrt(2 * length(y, inverse) * level)

        left = [k for k in left if not any(behind(k, i) for i in left)]
    return samples


def inverse_of(weights: dict[int, float]) -> list[list[float]]:
    """Of the information matrix in two dimensions."""
    a, b, c = (
        sum(weight * CIRCLE[arm][row] * CIRCLE[arm][column] for arm, weight in weights.items())
        for row, column in ((0, 0), (0, 1), (1, 1))
    )
    determinant = a * c - b * b
    return [[c / determinant, -b / determinant], [-b / determinant, a / determinant]]


def length(y: tuple[float, float], inverse: list[list[float]]) -> float:
    return y[0] ** 2 * inverse[0][0] + 2 * y[0] * y[1] * inverse[0][1] + y[1] ** 2 * inverse[1][1]


def design_on_a_grid(left: list[int]) -> tuple[dict[int, float], float]:
    """The best shares of two arms, which is all that two dimensions need for a single direction or more."""
    found: tuple[dict[int, float], float] = {}, math.inf
    for first in range(5):
        for second in range(first):
            for step in range(1, 50):
                shares = {first: step / 50, second: 1 - step / 50}
                inverse = inverse_of(shares)
                worst = max(
                    length((CIRCLE[i][0] - CIRCLE[k][0], CIRCLE[i][1] - CIRCLE[k][1]), inverse)
                    for i in left
                    for k in left
                )
                if worst < found[1]:
                    found = shares, worst
    return found


def test_rage_is_that_of_an_independent_implementation() -> None:
    ours = bestarm.simulate(PHASED, "rage", runs=RUNS // 2, engine="rounds").summary()
    chance = random.Random(5)
    theirs = [plain_rage(chance) for _ in range(RUNS)]
    error = math.hypot(ours.stderr, statistics.stdev(theirs) / math.sqrt(RUNS))
    assert abs(ours.mean - statistics.fmean(theirs)) < 3 * error + 0.01 * ours.mean  # the designs are searched


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_the_phases_of_rage_end_by_the_test_of_sharp(sigma: float | None) -> None:
    arms = [f"arm-{k}" for k in range(5)]
    problem = bestarm.Problem(arms, features=CIRCLE, theta=THETA, sigma=sigma, delta=DELTA, sites="alike")
    found = bestarm.simulate(problem, "rage:stopping=span", runs=20, engine="rounds", noise=SIGMA)
    assert (found.wrong, found.unfinished) == (0, 0)
    assert found.summary().mean < bestarm.simulate(PHASED, "rage", runs=20, engine="rounds").summary().mean


def test_the_phases_of_rage_need_least_squares() -> None:
    with pytest.raises(bestarm.UserError, match="rage needs stopping=rage or span"):
        bestarm.method("rage", PHASED, stopping="lingape")


def plain_fed_sel(chance: random.Random) -> int:
    """Fed-SEL with two sites: arms 0 and 2 at one of them, arm 1 at the other, and rounds of twenty pulls."""
    rewards = [[pull(chance, arm)] for arm in range(3)]

    def limits(arm: int) -> tuple[float, float]:
        count = len(rewards[arm])
        width = SIGMA * math.sqrt(2 / count * math.log(4 * 3 * count**2 / DELTA))
        mean = statistics.fmean(rewards[arm])
        return mean - width, mean + width

    left = [0, 2]
    while len(left) > 1:
        for arm in left:
            rewards[arm].append(pull(chance, arm))
        left = [arm for arm in left if not any(limits(other)[0] >= limits(arm)[1] for other in left)]
    winners = [left[0], 1]
    while True:
        winners = [arm for arm in winners if not any(limits(other)[0] >= limits(arm)[1] for other in winners)]
        if len(winners) == 1:
            return sum(map(len, rewards))
        for arm in winners:
            rewards[arm] += [pull(chance, arm) for _ in range(20)]


def test_fed_sel_is_that_of_an_independent_implementation() -> None:
    found = bestarm.simulate(PROBLEM, "fed-sel:steps=20", agents=2, runs=RUNS, engine="rounds")
    ours, chance = found.summary(), random.Random(5)
    theirs = [plain_fed_sel(chance) for _ in range(RUNS)]
    error = math.hypot(ours.stderr, statistics.stdev(theirs) / math.sqrt(RUNS))
    assert abs(ours.mean - statistics.fmean(theirs)) < 3 * error
    # Both tell their winner, and both report in every round: at least four messages, each answered.
    assert found.communications.min() >= 8
    assert not (found.communications % 4).any()


def test_fed_sel_waits_for_ever_where_a_site_has_two_best_arms() -> None:
    equal = bestarm.Problem.quick([0.9, 0.9, 0.5, 0.9], sigma=SIGMA, delta=DELTA)
    assert SELECTIONS["fed-sel"].gets_stuck
    found = bestarm.simulate(equal, "fed-sel", agents=2, runs=5, engine="rounds", max_samples=2000)
    assert found.unfinished == 5
    with pytest.raises(bestarm.UserError, match="arms of its own"):
        bestarm.simulate(PROBLEM, "fed-sel", agents=2, runs=1, offsets=[0.1, 0.0], engine="rounds")
