"""Methods of the field once more, in plain Python from their papers, and ours beside them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from typing import NamedTuple

import bestarm
from bestarm.simulation.result import Summary

MEANS = [0.9, 0.6, 0.4]
SIGMA, DELTA = 0.3, 0.1
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


def plain_lil_ucb(chance: random.Random) -> int:
    """lil'UCB with the constants of its experiments: ε = 0, β = 1/2, λ = 1 + 10/K and a fifth of δ."""
    rewards = [[pull(chance, arm)] for arm in range(3)]
    while True:
        counts = [len(each) for each in rewards]
        if any(count >= 1 + (1 + 10 / 3) * (sum(counts) - count) for count in counts):
            return sum(counts)
        chosen = max(
            range(3),
            key=lambda arm: (
                statistics.fmean(rewards[arm])
                + 1.5
                * math.sqrt(2 * SIGMA**2 * math.log(math.log(counts[arm] + 2) / (DELTA / 5)) / counts[arm])
            ),
        )
        rewards[chosen].append(pull(chance, chosen))


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

        def behind(
            k: int,
            i: int,
            theta: list[float] = theta,
            inverse: list[list[float]] = inverse,
            level: float = level,
        ) -> bool:
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


class Plain(NamedTuple):
    """A method of ours, and the plain function that makes a run of it; `slack` is a share of the samples."""

    label: str
    run: Callable[[random.Random], int]
    setting: str
    problem: bestarm.Problem = PROBLEM
    agents: int = 1
    slack: float = 0.0

    def __str__(self) -> str:
        return self.label


class Beside(NamedTuple):
    """Our samples, the mean of the plain runs, and how many standard errors of the difference lie between."""

    ours: Summary
    theirs: float
    apart: float


THREE = "means .9 .6 .4"
PLAIN = (
    Plain("lucb", plain_lucb, THREE),
    Plain("elimination", plain_elimination, THREE),
    Plain("eb-tci:threshold=heuristic", plain_eb_tci, THREE),
    Plain("lil-ucb:constants=heuristic", plain_lil_ucb, THREE),
    Plain("fed-sel:steps=20", plain_fed_sel, f"{THREE}, two sites", agents=2),
    # Both search for their designs, and stop within a hundredth of the best.
    Plain("rage", plain_rage, "five arms in two dimensions", PHASED, slack=0.01),
)


def beside(plain: Plain, ours: bestarm.Result, runs: int) -> Beside:
    """Our runs beside as many plain ones as are wanted."""
    chance, found = random.Random(5), ours.summary()
    samples = [plain.run(chance) for _ in range(runs)]
    theirs = statistics.fmean(samples)
    error = math.hypot(found.stderr, statistics.stdev(samples) / math.sqrt(runs))
    return Beside(found, theirs, abs(found.mean - theirs) / error)
