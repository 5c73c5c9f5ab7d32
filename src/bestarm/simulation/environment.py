"""Where simulated rewards come from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.problem import Problem
from bestarm.simulation.truth import concentrations_of, effects_of, kind_of, means_of, noise_of, table_of
from bestarm.simulation.world import PLAIN, REWARDS, World

GAUSSIAN, YES_NO, BOUNDED, TABLE, HEAVY = range(len(REWARDS))
FREEDOM = 3.0  # of Student's t
WAVE = 20.0  # samples of each arm in one radian of the drift
MOST_LOG_ODDS = 700.0  # beyond it an exponential leaves the floating point numbers
STAYS = 0.1  # the share of the smallest gap that drawn interactions leave at every site


class Environment(NamedTuple):
    """What a pull of each arm gives, in a form that compiled code can take too."""

    kind: int
    means: Floats
    noise: Floats  # the standard deviation of each arm's rewards
    low: float
    high: float
    centre: float  # squares are taken around it
    values: Floats  # a table's measured values, arm after arm
    starts: Counts  # where each arm's values start in it, and the end
    concentrations: Floats  # of each arm's bounded rewards
    effects: Floats  # what a site adds to each arm's mean: its row is its number modulo their number
    drift: float
    scatter: float  # of arm-by-site interactions that are still to be drawn, 0 if there are none


def environment(problem: Problem, world: World = PLAIN) -> Environment:
    """The rewards of a problem in a world, with everything checked."""
    kind = kind_of(problem, world)
    low, high = problem.reward_range or (-np.inf, np.inf)
    values: Floats = np.zeros(0)
    starts: Counts = np.zeros(1, dtype=np.int64)
    if kind == "table":
        values, starts, means = table_of(problem, world.table)
    else:
        means = means_of(problem, kind)
    noise = noise_of(problem, world, kind, means)
    return Environment(
        kind=REWARDS.index(kind),
        means=means,
        noise=noise,
        low=low,
        high=high,
        centre=problem.centre,
        values=values,
        starts=starts,
        concentrations=concentrations_of(problem, world, means, noise),
        effects=effects_of(problem, world),
        drift=world.drift,
        scatter=world.interactions if isinstance(world.interactions, float) else 0.0,
    )


def with_interactions(environment: Environment, sites: int, random: np.random.Generator) -> Environment:
    """The environment of one run: what is to be drawn once for all of it is drawn.

    Each site's deviation of each arm is normal with the standard deviation `scatter`. Then those of the other
    arms are lowered, where that is needed, so that the best arm (the first of several) stays the best at every
    site: by at least a tenth of the smallest gap, for yes-no rewards in log odds. A bounded best arm stays
    inside its range, and as far from its lower end.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # the log odds of 0 and 1
        rates = environment.means
        level = np.log(rates / (1.0 - rates)) if environment.kind == YES_NO else rates
        best = int(np.argmax(level))
        least = STAYS * (level[best] - np.delete(level, best).max())
        drawn = environment.scatter * random.standard_normal((sites, level.size))
        of_best = drawn[:, best].copy()
        if environment.kind == BOUNDED:
            of_best = of_best.clip(environment.low + least - level[best], environment.high - level[best])
        # Where two rates are 0 or 1 there is no difference of log odds, and nothing to limit.
        drawn = np.fmin(drawn, (level[best] + of_best)[:, None] - level - least)
        drawn[:, best] = of_best
    if environment.effects.shape[0]:
        drawn += environment.effects[np.arange(sites) % environment.effects.shape[0]]
    return environment._replace(effects=drawn, scatter=0.0)


def first_pulls(environment: Environment, arms: int, squares: bool, random: np.random.Generator) -> Batch:
    """One pull of each arm, known to everybody: the paper's initialisation."""
    batch = Batch(NOBODY, np.arange(arms), np.ones(arms, np.int64), np.empty(arms), np.zeros(arms * squares))
    fill(batch, environment, random)
    return batch


def fill(batch: Batch, environment: Environment, random: np.random.Generator, known: int = 0) -> None:
    """Draw what a batch gave, arm after arm; squares only where there is room for them.

    `known` are the samples that the server knew when the batch's plan was made.
    """
    squares = batch.squares.shape[0] > 0
    for place in range(batch.arms.shape[0]):
        arm, pulls = batch.arms[place], batch.pulls[place]
        added = shift(environment, batch.site, arm, known)
        if squares:
            batch.sums[place], batch.squares[place] = draw(environment, arm, pulls, random, added)
        else:
            batch.sums[place] = draw_sum(environment, arm, pulls, random, added)


def shift(environment: Environment, site: int, arm: int, known: int) -> float:
    """What site and time add to an arm's mean; nothing to what everybody knows from the beginning."""
    added: float = 0.0
    if site == NOBODY:
        return added
    sites = environment.effects.shape[0]
    if sites > 0:
        added += environment.effects[site % sites, arm]
    if environment.drift != 0.0:
        added += environment.drift * np.sin(known / (WAVE * environment.means.shape[0]))
    return added


def draw_sum(
    environment: Environment, arm: int, pulls: int, random: np.random.Generator, added: float = 0.0
) -> float:
    """The sum of the rewards of some pulls of an arm, distributed as if each had been drawn by itself.

    `added` is what site and time add to the arm's mean.
    """
    if environment.kind == GAUSSIAN:
        return gaussian_sum(environment, arm, pulls, random, added)
    return draw(environment, arm, pulls, random, added)[0]


def gaussian_sum(
    environment: Environment, arm: int, pulls: int, random: np.random.Generator, added: float
) -> float:
    """Normal(nμ, nσ²); the random numbers are the same whatever the mean is."""
    mean: float = environment.means[arm] + added
    return float(pulls * mean + np.sqrt(pulls) * environment.noise[arm] * random.standard_normal())


def draw(
    environment: Environment, arm: int, pulls: int, random: np.random.Generator, added: float = 0.0
) -> tuple[float, float]:
    """The same sum, and with it the squares around the problem's centre.

    Gaussian: the squares around the mean are σ²χ² with n − 1 degrees of freedom, independent of the sum
    (Cochran's theorem). Yes-no: Binomial(n, p), where `added` is added to the log odds. Table: multinomial
    counts of its values. Bounded and heavy-tailed rewards have no shortcut and are drawn one by one.
    """
    mean: float = environment.means[arm] + added
    centre = environment.centre
    if environment.kind == GAUSSIAN:
        gaussian = gaussian_sum(environment, arm, pulls, random, added)
        around = (gaussian - pulls * centre) ** 2 / pulls
        if pulls > 1:
            around += environment.noise[arm] ** 2 * random.chisquare(pulls - 1)
        return gaussian, around
    if environment.kind == YES_NO:
        ones = float(random.binomial(pulls, rate(environment.means[arm], added)))
        return ones, ones * (1.0 - centre) ** 2 + (pulls - ones) * centre**2
    total: float = 0.0
    square: float = 0.0
    if environment.kind == HEAVY:
        scale = environment.noise[arm] * np.sqrt((FREEDOM - 2.0) / FREEDOM)
        for _ in range(pulls):
            value = mean + scale * random.standard_t(FREEDOM)
            total += value
            square += (value - centre) ** 2
        return total, square
    if environment.kind == BOUNDED:
        mean = min(max(mean, environment.low), environment.high)
        width = environment.high - environment.low
        share = (mean - environment.low) / width
        if share <= 0.0 or share >= 1.0:
            return pulls * mean, pulls * (mean - centre) ** 2
        narrow = environment.concentrations[arm]
        for _ in range(pulls):
            part = random.beta(narrow * share, narrow * (1.0 - share))
            total += part
            square += (environment.low + width * part - centre) ** 2
        return pulls * environment.low + width * total, square
    first, last = environment.starts[arm], environment.starts[arm + 1]
    if pulls <= last - first:
        for _ in range(pulls):
            value = measured(environment, first + int(random.random() * (last - first)), added)
            total += value
            square += (value - centre) ** 2
        return total, square
    left = pulls
    for place in range(first, last):
        if left == 0:
            break
        count = left if place == last - 1 else random.binomial(left, 1.0 / (last - place))
        value = measured(environment, place, added)
        total += count * value
        square += count * (value - centre) ** 2
        left -= count
    return total, square


def rate(mean: float, added: float) -> float:
    """expit(logit(p) + a) = p eᵃ/(1 − p + p eᵃ), which is p itself for a = 0, and 0 and 1 stay what they are.

    >>> rate(0.02, 0.0), round(rate(0.5, np.log(3)), 12), rate(1.0, -5.0), rate(0.3, 1e9)
    (0.02, 0.75, 1.0, 1.0)
    """
    odds = mean * np.exp(min(max(added, -MOST_LOG_ODDS), MOST_LOG_ODDS))
    return float(odds / (1.0 - mean + odds))


def measured(environment: Environment, place: int, added: float) -> float:
    """A table's value as a site sees it."""
    value: float = environment.values[place] + added
    return min(max(value, environment.low), environment.high)
