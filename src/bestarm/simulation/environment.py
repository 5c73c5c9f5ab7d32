"""Where simulated rewards come from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.errors import ProblemWarning, UserError
from bestarm.problem import Problem

GAUSSIAN, BERNOULLI, BOUNDED, TABLE = range(4)
REWARDS = ("gaussian", "bernoulli", "bounded", "table")
OF_PROBLEM = {"normal": "gaussian", "yes-no": "bernoulli", "bounded": "bounded"}
CONCENTRATION = 4.0  # of a bounded reward around its mean; 2 with mean ½ would be uniform


class Environment(NamedTuple):
    """What a pull of each arm gives, in a form that compiled code can take too."""

    kind: int
    means: Floats
    sigma: float
    low: float
    high: float
    centre: float  # squares are taken around it
    values: Floats  # a table's measured values, arm after arm
    starts: Counts  # where each arm's values start in it, and the end


def environment(
    problem: Problem, rewards: str | None = None, table: Mapping[str, Sequence[float]] | None = None
) -> Environment:
    """The rewards of a problem: `gaussian`, `bernoulli`, `bounded`, or drawn from a `table` of measured values.

    Without a word: the table if there is one, else what the problem says of its rewards.
    Gaussian rewards have the problem's sigma; Bernoulli rewards are 1 with the arm's mean as probability;
    bounded ones are Beta distributed over the range around the mean.
    """
    kind = rewards or ("table" if table else OF_PROBLEM[problem.rewards])
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
    if kind == "gaussian" and problem.sigma is None:
        raise UserError(
            f"problem {problem.name!r} has no sigma, and a simulation needs to know how much rewards scatter: "
            "give sigma."
        )
    if kind == "bernoulli":
        _check_bernoulli(problem, means)
        low, high = 0.0, 1.0
    if kind == "bounded":
        if problem.rewards == "yes-no":
            raise UserError(f"rewards=bounded does not fit problem {problem.name!r}, whose rewards are 0 or 1.")
        if problem.reward_range is None:
            raise UserError("rewards=bounded needs a problem with a reward_range.")
        if (means < low).any() or (means > high).any():
            raise UserError(f"rewards=bounded needs means between {low} and {high}.")
    sigma = problem.sigma or 0.0
    return Environment(REWARDS.index(kind), means, sigma, low, high, problem.centre, values, starts)


def first_pulls(environment: Environment, arms: int, squares: bool, random: np.random.Generator) -> Batch:
    """One pull of each arm, known to everybody: the paper's initialisation."""
    batch = Batch(NOBODY, np.arange(arms), np.ones(arms, np.int64), np.empty(arms), np.zeros(arms * squares))
    fill(batch, environment, random)
    return batch


def fill(batch: Batch, environment: Environment, random: np.random.Generator) -> None:
    """Draw what a batch gave, arm after arm; squares only where there is room for them."""
    squares = batch.squares.shape[0] > 0
    for place in range(batch.arms.shape[0]):
        arm, pulls = batch.arms[place], batch.pulls[place]
        if squares:
            batch.sums[place], batch.squares[place] = draw(environment, arm, pulls, random)
        else:
            batch.sums[place] = draw_sum(environment, arm, pulls, random)


def draw_sum(environment: Environment, arm: int, pulls: int, random: np.random.Generator) -> float:
    """The sum of the rewards of some pulls of an arm, distributed as if each had been drawn by itself."""
    if environment.kind == GAUSSIAN:
        return gaussian_sum(environment, arm, pulls, random)
    return draw(environment, arm, pulls, random)[0]


def gaussian_sum(environment: Environment, arm: int, pulls: int, random: np.random.Generator) -> float:
    """Normal(nμ, nσ²)."""
    mean: float = environment.means[arm]
    return float(pulls * mean + np.sqrt(pulls) * environment.sigma * random.standard_normal())


def draw(environment: Environment, arm: int, pulls: int, random: np.random.Generator) -> tuple[float, float]:
    """The same sum, and with it the squares around the problem's centre.

    Gaussian: the squares around the mean are σ²χ² with n − 1 degrees of freedom, independent of the sum
    (Cochran's theorem). Bernoulli: Binomial(n, μ). Table: multinomial counts of its values. Bounded rewards
    have no shortcut and are drawn one by one.
    """
    mean: float = environment.means[arm]
    low, high, centre = environment.low, environment.high, environment.centre
    if environment.kind == GAUSSIAN:
        gaussian = gaussian_sum(environment, arm, pulls, random)
        around = (gaussian - pulls * centre) ** 2 / pulls
        if pulls > 1:
            around += environment.sigma**2 * random.chisquare(pulls - 1)
        return gaussian, around
    if environment.kind == BERNOULLI:
        ones = float(random.binomial(pulls, (mean - low) / (high - low)))
        around = ones * (high - centre) ** 2 + (pulls - ones) * (low - centre) ** 2
        return pulls * low + (high - low) * ones, around
    total: float = 0.0
    square: float = 0.0
    if environment.kind == BOUNDED:
        width = high - low
        share = (mean - low) / width
        if share <= 0.0 or share >= 1.0:
            return pulls * mean, pulls * (mean - centre) ** 2
        for _ in range(pulls):
            part = random.beta(CONCENTRATION * share, CONCENTRATION * (1.0 - share))
            total += part
            square += (low + width * part - centre) ** 2
        return pulls * low + width * total, square
    first, last = environment.starts[arm], environment.starts[arm + 1]
    if pulls <= last - first:
        for _ in range(pulls):
            value = environment.values[first + int(random.random() * (last - first))]
            total += value
            square += (value - centre) ** 2
        return total, square
    left = pulls
    for place in range(first, last):
        if left == 0:
            break
        count = left if place == last - 1 else random.binomial(left, 1.0 / (last - place))
        total += count * environment.values[place]
        square += count * (environment.values[place] - centre) ** 2
        left -= count
    return total, square


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
    if problem.sigma is not None and problem.sigma < needed - 1e-9:
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
