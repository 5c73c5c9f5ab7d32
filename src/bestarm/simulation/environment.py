"""Where simulated rewards come from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bestarm.core.tally import Counts, Floats
from bestarm.errors import ProblemWarning, UserError
from bestarm.problem import Problem

GAUSSIAN, BERNOULLI, BOUNDED, TABLE = range(4)
REWARDS = ("gaussian", "bernoulli", "bounded", "table")
CONCENTRATION = 4.0  # of a bounded reward around its mean; 2 with mean ½ would be uniform


class Environment(NamedTuple):
    """What a pull of each arm gives, in a form that compiled code can take too."""

    kind: int
    means: Floats
    sigma: float
    low: float
    high: float
    values: Floats  # a table's measured values, arm after arm
    starts: Counts  # where each arm's values start in it, and the end


def environment(
    problem: Problem, rewards: str | None = None, table: Mapping[str, Sequence[float]] | None = None
) -> Environment:
    """The rewards of a problem: `gaussian`, `bernoulli`, `bounded`, or drawn from a `table` of measured values.

    Without a word: the table if there is one, `bounded` if the problem has a reward range, else `gaussian`.
    Gaussian rewards have the problem's sigma; Bernoulli rewards are 1 with the arm's mean as probability;
    bounded ones are Beta distributed over the range around the mean.
    """
    kind = rewards or ("table" if table else "bounded" if problem.reward_range else "gaussian")
    if kind not in REWARDS:
        raise UserError(f"rewards is {kind!r}; it must be one of {', '.join(REWARDS)}.")
    low, high = problem.reward_range or (0.0, 1.0)
    values: Floats = np.zeros(0)
    starts: Counts = np.zeros(1, dtype=np.int64)
    if kind == "table":
        values, starts, means = _from_table(problem, table)
    elif problem.means is None:
        raise UserError(
            f"problem {problem.name!r} has no means, and a simulation needs the truth: "
            "give each arm a mean, give theta, or give a table of measured rewards."
        )
    else:
        means = np.array(problem.means, dtype=np.float64)
    if kind == "bernoulli":
        _check_bernoulli(problem, means)
    if kind == "bounded":
        if problem.reward_range is None:
            raise UserError("rewards=bounded needs a problem with a reward_range.")
        if (means < low).any() or (means > high).any():
            raise UserError(f"rewards=bounded needs means between {low} and {high}.")
    return Environment(REWARDS.index(kind), means, problem.sigma, low, high, values, starts)


def first_pulls(environment: Environment, arms: int, random: np.random.Generator) -> tuple[Counts, Floats]:
    """Pulls and reward sums after one pull of every arm."""
    sums = np.empty(arms)
    for arm in range(arms):
        sums[arm] = draw_sum(environment, arm, 1, random)
    return np.ones(arms, np.int64), sums


def draw_sum(environment: Environment, arm: int, pulls: int, random: np.random.Generator) -> float:
    """The sum of the rewards of some pulls of an arm, with the exact distribution of drawing them one by one.

    Gaussian: Normal(nμ, nσ²). Bernoulli: Binomial(n, μ). Table: multinomial counts of its values.
    Bounded rewards have no shortcut and are drawn one by one.
    """
    mean: float = environment.means[arm]
    if environment.kind == GAUSSIAN:
        return float(pulls * mean + np.sqrt(pulls) * environment.sigma * random.standard_normal())
    if environment.kind == BERNOULLI:
        return float(random.binomial(pulls, mean))
    total: float = 0.0
    if environment.kind == BOUNDED:
        width = environment.high - environment.low
        share = (mean - environment.low) / width
        if share <= 0.0 or share >= 1.0:
            return pulls * mean
        for _ in range(pulls):
            total += random.beta(CONCENTRATION * share, CONCENTRATION * (1.0 - share))
        return pulls * environment.low + width * total
    first, last = environment.starts[arm], environment.starts[arm + 1]
    if pulls <= last - first:
        for _ in range(pulls):
            total += environment.values[first + int(random.random() * (last - first))]
        return total
    left = pulls
    for place in range(first, last):
        if left == 0:
            break
        count = left if place == last - 1 else random.binomial(left, 1.0 / (last - place))
        total += count * environment.values[place]
        left -= count
    return total


def _from_table(problem: Problem, table: Mapping[str, Sequence[float]] | None) -> tuple[Floats, Counts, Floats]:
    if not table:
        raise UserError("rewards=table needs a table of measured values for each arm.")
    unknown, missing = set(table) - set(problem.arms), set(problem.arms) - set(table)
    if unknown or missing:
        what = f"has unknown arms {sorted(unknown)}" if unknown else f"has no values for {sorted(missing)}"
        raise UserError(f"the table of rewards {what}; it must have the arms of problem {problem.name!r}.")
    columns = [np.array(table[arm], dtype=np.float64) for arm in problem.arms]
    for arm, column in zip(problem.arms, columns, strict=True):
        if column.size == 0:
            raise UserError(f"the table of rewards has no values for arm {arm!r}.")
        for value in column:
            problem.check_reward(float(value))
    starts = np.concatenate([[0], np.cumsum([column.size for column in columns])]).astype(np.int64)
    return np.concatenate(columns), starts, np.array([column.mean() for column in columns])


def _check_bernoulli(problem: Problem, means: Floats) -> None:
    if (means < 0).any() or (means > 1).any():
        raise UserError(f"rewards=bernoulli needs means between 0 and 1; they are {means.tolist()}.")
    needed = max(bernoulli_sigma(float(p)) for p in means)
    if problem.sigma < needed - 1e-9:
        warnings.warn(
            f"Bernoulli rewards of problem {problem.name!r} need sigma of at least {needed:.4g} (0.5 is always "
            f"enough) and it has {problem.sigma:.4g}: the guarantee does not hold.",
            ProblemWarning,
            stacklevel=3,
        )


def bernoulli_sigma(probability: float) -> float:
    """The smallest σ for which a Bernoulli reward is σ-sub-Gaussian (Buldygin and Moskvichova 2013).

    `σ² = (1 − 2p) / (2 log((1−p)/p))`, ¼ at p = ½.

    >>> bernoulli_sigma(0.5), round(bernoulli_sigma(0.1), 4)
    (0.5, 0.4267)
    """
    if probability in (0.0, 1.0):
        return 0.0
    if abs(probability - 0.5) < 1e-6:
        return 0.5
    return math.sqrt((1 - 2 * probability) / (2 * math.log((1 - probability) / probability)))
