"""Each step of rule-out's proof, left out: what breaks then, and that nothing breaks with it.

Arms that are all equal, so that each of them is the best: an account against one of them may reach 1/δ in a
share δ of the studies. Four pulls of each arm in a batch, many studies side by side.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import bestarm
from bestarm.core.arrays import Counts, Floats
from bestarm.core.mixture import log_worths
from bestarm.core.scatter import SHARE, scatter_bound
from bestarm.core.tally import Tally

STUDIES, BATCHES, PULLS, RHO = 3000, 150, 4, 9.0
WEIGHT = PULLS / 2  # of a difference of two means


def batches(arms: int, seed: int) -> Floats:
    """Means of every arm (last axis) in every batch of every study, of noise with sigma 1."""
    return np.random.default_rng(seed).normal(size=(BATCHES, STUDIES, arms)) / math.sqrt(PULLS)


def share_ruled_out(accounts: Floats, level: float, sigmas: Floats | float = 1.0) -> float:
    """In how many studies an account, batch by batch, is ever worth exp(level)."""
    weights = np.broadcast_to(WEIGHT * np.arange(1.0, BATCHES + 1)[:, None], accounts.shape)
    sigma = np.broadcast_to(sigmas, accounts.shape)
    worths = log_worths((accounts / sigma).reshape(-1), weights.reshape(-1), 1.0, RHO).reshape(accounts.shape)
    return float((worths.max(axis=0) >= level).mean())


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_a_rival_is_chosen_before_its_batch(delta: float) -> None:
    means = batches(4, seed=1)
    before = np.cumsum(means, axis=0) - means
    others, level = slice(1, None), math.log(1 / delta)

    def account(chosen: Counts) -> Floats:
        rival = np.take_along_axis(means[..., others], chosen[..., None], axis=-1)[..., 0]
        return np.cumsum(WEIGHT * (rival - means[..., 0]), axis=0)

    assert share_ruled_out(account(before[..., others].argmax(axis=-1)), level) < delta
    assert share_ruled_out(account(means[..., others].argmax(axis=-1)), level) > 0.9  # having seen the batch


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_a_leader_s_account_begins_when_it_leads(delta: float) -> None:
    """Whoever leads in the end was lucky from the beginning: its earlier batches must not count."""
    means, level = batches(20, seed=2), math.log(1 / delta)
    accounts = np.cumsum(WEIGHT * (means[..., 1:] - means[..., :1]), axis=0)
    leader = accounts.argmax(axis=-1)
    best = np.take_along_axis(accounts, leader[..., None], axis=-1)[..., 0]
    assert share_ruled_out(best, level) > delta
    first = leader[9]  # the one that led after ten batches, from then on
    later = np.take_along_axis(accounts, np.broadcast_to(first[None, :, None], (BATCHES, STUDIES, 1)), -1)[
        ..., 0
    ]
    later = later - later[9]
    later[:10] = 0.0
    assert share_ruled_out(later, level) < delta


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_sigma_is_bounded_and_not_estimated(delta: float) -> None:
    """One pull of each of two arms in a batch, and few repeats: the plain estimate is too often low."""
    random, studies, several = np.random.default_rng(3), 3000, 40
    differences = random.normal(size=(several, studies)) * math.sqrt(2.0)
    residuals = np.cumsum(random.chisquare(1, size=(several, studies)), axis=0)
    totals = np.cumsum(0.5 * differences, axis=0)
    weights = np.broadcast_to(0.5 * np.arange(1.0, several + 1)[:, None], totals.shape)
    freedoms = np.arange(1.0, several + 1)[:, None]

    def wrong(sigmas: Floats, level: float) -> float:
        worths = log_worths((totals / sigmas).reshape(-1), weights.reshape(-1), 1.0, 0.5)
        return float((worths.reshape(totals.shape).max(axis=0) >= level).mean())

    bounds = np.array(
        [
            [min(scatter_bound(float(residual), float(freedom), SHARE * delta), 1e150) for residual in row]
            for row, freedom in zip(residuals, freedoms[:, 0], strict=True)
        ]
    )
    assert wrong(bounds, math.log(1 / ((1 - SHARE) * delta))) < delta
    assert wrong(np.sqrt(residuals / freedoms), math.log(1 / delta)) > delta


@pytest.mark.parametrize(("kind", "delta"), [("normal", 0.3), ("normal", 0.05), ("yes-no", 0.3)])
def test_the_fold_itself_chooses_rivals_before_their_batch(kind: str, delta: float) -> None:
    """Eight equal arms: with two the rival is always the other one, and a fold that peeks would not be noticed.

    Whoever is shown the batch first, by estimates that have it in them, breaks the promise.
    """
    assert share_of_folds(kind, delta, peeks=False) < delta
    assert share_of_folds(kind, delta, peeks=True) > delta


def share_of_folds(kind: str, delta: float, peeks: bool) -> float:
    """In how many of 150 studies an arm that is as good as all others is ever ruled out."""
    arms, random, runs, ruled_out = 8, np.random.default_rng(6), 150, 0
    given = {"rewards": "yes-no"} if kind == "yes-no" else {"sigma": 1.0, "sites": "differ"}
    problem = bestarm.Problem([f"arm-{k}" for k in range(arms)], delta=delta, **given)
    method = bestarm.method("sharp", problem, agents=3)
    for _ in range(runs):
        state, highest = method.begin(), -math.inf
        for number in range(20):
            sums = random.binomial(8, 0.5, arms) if kind == "yes-no" else random.normal(0.0, math.sqrt(8), arms)
            if peeks and number:
                state.estimate.values[:] = (state.sums + sums) / (state.pulls + 8)
            state = method.fold(state, Tally.of([8] * arms, sums.astype(float).tolist()), number % 3)
            highest = max(highest, float(state.odds[0]))
        ruled_out += highest >= math.log(1 / delta)
    return ruled_out / runs


def test_a_tolerance_is_added_once() -> None:
    """The second arm is worse by more than the tolerance, and leads in a third of all studies at first.

    With four times the tolerance in the accounts its lead would be enough too often.
    """
    assert share_of_second(0.055, delta=0.1) < 0.1
    assert share_of_second(4 * 0.055, delta=0.1) > 0.1


def share_of_second(epsilon: float, delta: float) -> float:
    """In how many of 200 studies the answer is an arm that is worse by 0.06."""
    random, runs, wrong = np.random.default_rng(9), 200, 0
    problem = bestarm.Problem(["a", "b"], sigma=0.3, delta=delta, epsilon=epsilon, sites="differ")
    method = bestarm.method("sharp", problem, agents=3)
    for _ in range(runs):
        state = method.begin()
        for number in range(60):
            sums = random.normal([5 * 0.06, 0.0], 0.3 * math.sqrt(5))
            state = method.fold(state, Tally.of([5, 5], sums.tolist()), number % 3)
            verdict = method.judge(state)
            if verdict.stopped:
                wrong += verdict.arm == "b"
                break
    return wrong / runs
