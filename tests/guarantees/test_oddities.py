"""Warnings: almost never in a study in which all is well, and in one that deserves them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

import bestarm
from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.core.tally import Tally
from bestarm.differences import Comparisons
from bestarm.methods.composed import batch_of
from bestarm.oddities import SHAPE, SHARES, Oddities, Oddity, log_unequal

STUDIES, BATCHES, SITES = 600, 60, ["oslo", "rome", "bern"]
ARMS = ["A", "B", "C"]
KINDS: dict[str, dict[str, Any]] = {
    "measured": {},
    "known": {"sigma": 0.3, "sites": "differ"},
    "yes-no": {"rewards": "yes-no"},
}

Change = Callable[[int, int, Floats, Floats], tuple[Floats, Floats]]


def as_it_is(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return means, noise


@cache
def method_for(kind: str, goal: str) -> bestarm.Method:
    return bestarm.method("sharp", bestarm.Problem(ARMS, goal=goal, **KINDS[kind]), 3)


def study(
    kind: str, chance: np.random.Generator, change: Change = as_it_is, goal: str = "highest"
) -> list[Oddity]:
    """All that is ever warned of; sites have offsets and drift, and arms are sampled by how they stand."""
    method = method_for(kind, goal)
    comparisons, oddities, arms = Comparisons(3), Oddities(method), len(ARMS)
    offsets, totals, pulls = chance.normal(0.0, 1.0, 3), np.zeros(arms), np.zeros(arms)
    seen: dict[str, Oddity] = {}
    for number in range(BATCHES):
        site, leader = int(chance.integers(3)), int(np.argmax(totals / np.maximum(pulls, 1)))
        sizes = chance.integers(2, 8, arms) * (60 if kind == "yes-no" else 1)
        sizes[leader] *= 2
        means = -0.1 * np.arange(arms) + offsets[site] + np.sin(number / 9)
        means, noise = change(number, site, means, np.full(arms, 0.3))
        if kind == "yes-no":
            sums, squares = chance.binomial(sizes, 1 / (1 + np.exp(-means))).astype(float), None
        else:
            rewards = [chance.normal(*each) for each in zip(means, noise, sizes, strict=True)]
            sums = np.array([some.sum() for some in rewards])
            squares = [float((some**2).sum()) for some in rewards] if method.squares else None
        batch = batch_of(Tally.of(sizes.tolist(), sums.tolist(), squares), site)
        oddities.add(batch, SITES[site], number + 1, comparisons)
        totals, pulls = totals + sums - sizes * (sums.sum() / sizes.sum()), pulls + sizes
        comparisons.add(batch, int(np.argmax(totals / pulls)))
        if number % 5 == 4:
            seen |= {str(one): one for one in oddities.found(comparisons)}
    return list(seen.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_study_in_which_all_is_well_gets_no_warning(kind: str) -> None:
    chance = np.random.default_rng(11)
    alarms = sum(bool(study(kind, chance)) for _ in range(STUDIES))
    assert alarms < 0.01 * STUDIES


def test_the_shares_are_less_than_one_per_cent_together() -> None:
    assert sum(SHARES.values()) < 0.01


def noisy_arm(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return means, noise * np.array([1.0, 2.0, 1.0])


def noisy_site(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return means, noise * (2.0 if site == 1 else 1.0)


def other_order(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return means + np.array([0.0, 1.2 if site == 2 else -0.6, 0.0]), noise


def other_units(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return (100 * means, 100 * noise) if number == 30 else (means, noise)


def one_arm_far(number: int, site: int, means: Floats, noise: Floats) -> tuple[Floats, Floats]:
    return means - np.array([8.0 * np.sign(means[0]) if number == 40 else 0.0, 0.0, 0.0]), noise


@pytest.mark.parametrize(
    ("kind", "change", "expected", "words"),
    [
        ("measured", noisy_arm, "noise", "The rewards of arm B scatter 2"),
        ("measured", noisy_site, "noise", "The rewards of site rome scatter"),
        ("measured", other_order, "order", "at site bern"),
        ("known", other_order, "order", "at site bern"),
        ("yes-no", other_order, "order", "at site bern"),
        ("measured", other_units, "batch", "Upload 31, of site"),
        ("known", other_units, "batch", "Upload 31, of site"),
        ("measured", one_arm_far, "batch", "Upload 41, of site"),
        ("yes-no", one_arm_far, "batch", "Upload 41, of site"),
    ],
)
def test_a_study_that_deserves_a_warning_gets_it(kind: str, change: Change, expected: str, words: str) -> None:
    chance = np.random.default_rng(5)
    for _ in range(5):
        found = [one for one in study(kind, chance, change) if one.kind == expected]
        assert any(words in one.seen for one in found)
        assert all("promise" in one.meaning for one in found)


@pytest.mark.parametrize("goal", ["highest", "lowest"])
def test_who_is_better_where_goes_by_the_goal(goal: str) -> None:
    """At bern B is above A, elsewhere below; with the goal `lowest` the lower one is the better."""
    found = study("known", np.random.default_rng(5), other_order, goal)
    (order,) = (one for one in found if one.kind == "order")
    better, worse = order.seen.removeprefix("Sites disagree: ").split(", and worse ")
    first, second = better.split(" ")[0], better.split(" ")[4]
    b_wins_at_bern = goal == "highest"
    if {first, second} == {"A", "B"}:
        assert ("bern" in better) == ((first == "B") == b_wins_at_bern)
        assert ("bern" in worse) == ((first == "A") == b_wins_at_bern)


def test_unequal_noise_agrees_with_an_integral() -> None:
    """At the sigma that speaks least for it, the product of two mixtures, each by numerical integration."""
    residuals, freedoms = np.array([40.0, 300.0]), np.array([12.0, 30.0])

    def log_e(residual: float, freedom: float, variance: float) -> float:
        x = residual / (2 * variance)
        value, _ = quad(
            lambda u: u ** (freedom / 2) * np.exp(-(u - 1) * x) * gamma.pdf(u, SHAPE, scale=1 / SHAPE),
            0,
            np.inf,
        )
        return float(np.log(value))

    pairs = list(zip(residuals, freedoms, strict=True))
    least = min(sum(log_e(*pair, variance) for pair in pairs) for variance in np.geomspace(1, 30, 400))
    assert log_unequal(residuals, freedoms)[0] == pytest.approx(least, abs=0.03)
    assert log_unequal(residuals, freedoms)[0] <= least


def test_a_batch_of_the_leader_alone_says_nothing() -> None:
    """A site that can do one arm only sends such batches."""
    method = bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=0.3), agents=2)
    oddities, comparisons = Oddities(method), Comparisons(2)
    for position, arms in enumerate(([0, 1], [0, 1], [0])):
        batch = Batch(0, np.array(arms), np.full(len(arms), 20), np.full(len(arms), 10.0), np.empty(0))
        oddities.add(batch, "lab", position, comparisons)
        comparisons.add(batch, 0)
    assert oddities.found(comparisons) == ()
