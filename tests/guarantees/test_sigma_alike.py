"""The bound on sigma where sites are alike holds however arms are chosen, by their own means too."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

import bestarm
from bestarm.core.tally import Tally
from bestarm.methods import Method

ARMS, PULLS, RUNS, DELTA = 50, 100, 60, 0.9


def fails(method: Method, random: np.random.Generator) -> bool:
    """Whether the bound is ever below sigma, which is 1, where the arm nearest to the average is pulled.

    Arms that are all alike, once each, and then one pull after the other: an arm whose mean is there by no luck
    gets rewards that are nearer to it than most rewards are to means. Intervals are as wide as the bound.
    """
    first, rho = random.normal(size=ARMS), method.setting.pseudo_count
    state = method.begin(Tally.of([1] * ARMS, first.tolist(), (first**2).tolist()))
    for _ in range(PULLS):
        values = state.estimate.values
        arm, reward = int(np.argmin(np.abs(values - values.mean()))), float(random.normal())
        one = np.eye(ARMS)[arm]
        batch = Tally.of(one.astype(int).tolist(), (one * reward).tolist(), (one * reward**2).tolist())
        state = method.fold(state, batch, 0)
        radii, pulls = method.radii(state), float(state.pulls[0])
        assert radii is not None
        level = math.log(ARMS / (0.95 * DELTA)) + 0.5 * math.log1p(pulls / rho)
        if radii[0] < math.sqrt(2.0 * (pulls + rho) * level) / pulls:
            return True
    return False


def test_the_bound_on_sigma_holds_where_arms_are_chosen_by_their_means() -> None:
    problem = bestarm.Problem([f"arm{k}" for k in range(ARMS)], sites="alike", delta=DELTA)
    method, random = bestarm.method("sharp", problem, agents=2), np.random.default_rng(7)
    assert method.test.name == "pairs"
    wrong = sum(fails(method, random) for _ in range(RUNS))
    assert wrong <= binom.ppf(0.999, RUNS, DELTA / 20)
