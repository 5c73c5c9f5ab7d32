"""Where simulated rewards come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.bets import PAIR, add_against
from bestarm.problem import Problem
from bestarm.reward import Limits
from bestarm.simulation.worlds.truth import effects_of, kind_of, means_of, spreads_of, table_of
from bestarm.simulation.worlds.world import PLAIN, REWARDS, World

GAUSSIAN, YES_NO, BOUNDED, TABLE, HEAVY = range(len(REWARDS))
FREEDOM = 3.0  # of Student's t
WAVE = 20.0  # samples of each arm in one radian of the drift
MOST_LOG_ODDS = 700.0  # beyond it an exponential leaves the floating point numbers
Fill = Callable[[Batch, "Environment", np.random.Generator, int], None]
STAYS = 0.1  # the share of the smallest gap that drawn interactions leave at every site


class Environment(NamedTuple):
    """What a pull of each arm gives, in a form that compiled code can take too.

    `levels` are the means of the arms at each site, a row a site; sites after the last begin again with the
    first. The very last row has the arms' own means.
    """

    kind: int
    levels: Floats
    spreads: Floats  # the standard deviation of each arm's rewards; of bounded ones their concentration
    low: float  # where rewards lie; a yes-no reward is one of the two
    high: float
    centre: float  # squares are taken around it
    values: Floats  # a table's measured values, arm after arm
    starts: Counts  # where each arm's values start in it, and the end
    drift: float
    pace: float  # of the drift, in radians a sample
    scatter: float  # of arm-by-site interactions that are still to be drawn, 0 if there are none
    items: bool  # whether all arms of a batch are tried on the same items
    common: float  # the standard deviation of what an item adds to all arms
    apart: float  # and of what it adds to each arm by itself

    @property
    def means(self) -> Floats:
        """The arms' own means."""
        own: Floats = self.levels[-1]
        return own


def environment(problem: Problem, world: World = PLAIN) -> Environment:
    """The rewards of a problem in a world, with everything checked."""
    kind = kind_of(problem, world)
    low, high = (0.0, 1.0) if kind == "yes-no" else problem.reward_range or (-np.inf, np.inf)
    values: Floats = np.zeros(0)
    starts: Counts = np.zeros(1, dtype=np.int64)
    if kind == "table":
        values, starts, means = table_of(problem, world)
    else:
        means = means_of(problem, kind)
    spreads, common, apart = (
        spreads_of(problem, world, kind, means),
        world.item_effects,
        world.item_interactions,
    )
    if kind == "gaussian" and not problem.items:  # each pull is on another item, whose effects are noise
        spreads, common, apart = np.sqrt(spreads**2 + common**2 + apart**2), 0.0, 0.0
    return Environment(
        kind=REWARDS.index(kind),
        levels=with_own(REWARDS.index(kind), (low, high), means, means, effects_of(problem, world)),
        spreads=spreads,
        low=low,
        high=high,
        centre=problem.centre,
        values=values,
        starts=starts,
        drift=world.drift,
        pace=1.0 / (WAVE * problem.K),
        scatter=world.interactions if isinstance(world.interactions, float) else 0.0,
        items=problem.items,
        common=common,
        apart=apart,
    )


def with_interactions(environment: Environment, sites: int, random: np.random.Generator) -> Environment:
    """The environment of one run: what is to be drawn once for all of it is drawn.

    Each site's deviation of each arm is normal with the standard deviation `scatter`. Then those of the other
    arms are lowered, where that is needed, so that the best arm (the first of several) stays the best at every
    site: by at least a tenth of the smallest gap, for yes-no rewards in log odds. A bounded best arm stays
    inside its range, and as far from its lower end. Offsets come on top.
    """
    kind, means, low, high = environment.kind, environment.means, environment.low, environment.high
    with np.errstate(divide="ignore", invalid="ignore"):  # the log odds of 0 and 1
        scale = np.log((means - low) / (high - means)) if kind == YES_NO else means
        best = int(np.argmax(scale))
        least = STAYS * (scale[best] - np.delete(scale, best).max())
        drawn = environment.scatter * random.standard_normal((sites, means.size))
        of_best = drawn[:, best].copy()
        if kind == BOUNDED:
            of_best = of_best.clip(low + least - scale[best], high - scale[best])
        # Where two rates are 0 or 1 there is no difference of log odds, and nothing to limit.
        drawn = np.fmin(drawn, (scale[best] + of_best)[:, None] - scale - least)
        drawn[:, best] = of_best
    known = environment.levels[[row_of(environment.levels.shape[0], site) for site in range(sites)]]
    return environment._replace(levels=with_own(kind, (low, high), means, known, drawn), scatter=0.0)


def with_own(kind: int, limits: Limits, means: Floats, levels: Floats, effects: Floats) -> Floats:
    """Levels moved by effects, and after them the arms' own means."""
    low, high = limits
    if kind == YES_NO:
        moved = np.clip(low + (high - low) * rate((levels - low) / (high - low), effects), low, high)
    else:
        moved = levels + effects
    return np.concatenate([moved, means[None]])


def first_batch(arms: int, squares: bool) -> Batch:
    """One pull of each arm, known to everybody, still to be filled: the paper's initialisation."""
    pulls, sums = np.ones(arms, np.int64), np.empty(arms)
    return Batch(NOBODY, np.arange(arms), pulls, sums, np.zeros(arms * squares), np.empty(0), pulls[:0])


def first_pulls(environment: Environment, arms: int, squares: bool, random: np.random.Generator) -> Batch:
    """The same with what it gave."""
    batch = first_batch(arms, squares)
    fill(batch, environment, random, 0)
    return batch


def fill(batch: Batch, environment: Environment, random: np.random.Generator, known: int) -> None:
    """Draw what a batch gave, arm after arm; squares and sums against rivals where there is room for them.

    `known` are the samples that the server knew when the batch's plan was made.
    """
    if batch.against.shape[0] > 0:
        row = row_of(environment.levels.shape[0], batch.site)
        added = drift_at(environment.drift, environment.pace, known)
        single = np.empty(batch.pulls.sum())
        if environment.items:
            draw_items(batch, environment, random, row, added, single)
        else:
            draw_single(batch, environment, random, row, added, single)
        settle(batch, single, environment.high - environment.low)
    elif environment.kind == GAUSSIAN and batch.squares.shape[0] == 0:
        fill_plainly(batch, environment, random, known)
    else:
        fill_sums(batch, environment, random, known)


def fill_sums(batch: Batch, environment: Environment, random: np.random.Generator, known: int) -> None:
    """The same where nobody asks for sums against rivals."""
    row = row_of(environment.levels.shape[0], batch.site)
    added = drift_at(environment.drift, environment.pace, known)
    for place in range(batch.arms.shape[0]):
        total, square = draw(environment, batch.arms[place], batch.pulls[place], random, row, added)
        batch.sums[place] = total
        if batch.squares.shape[0] > 0:
            batch.squares[place] = square


def fill_plainly(batch: Batch, environment: Environment, random: np.random.Generator, known: int) -> None:
    """The same for Gaussian rewards of which nothing but sums is wanted: the most common, and the fastest."""
    levels, spreads = environment.levels[row_of(environment.levels.shape[0], batch.site)], environment.spreads
    added = drift_at(environment.drift, environment.pace, known)
    for place in range(batch.arms.shape[0]):
        arm = batch.arms[place]
        batch.sums[place] = gaussian_sum(levels[arm] + added, spreads[arm], batch.pulls[place], random)


def draw_single(
    batch: Batch, environment: Environment, random: np.random.Generator, row: int, added: float, single: Floats
) -> None:
    """Draw every reward by itself, arm after arm."""
    drawn = 0
    for place in range(batch.arms.shape[0]):
        batch.sums[place] = 0.0
        for _ in range(batch.pulls[place]):
            single[drawn] = draw(environment, batch.arms[place], 1, random, row, added)[0]
            batch.sums[place] += single[drawn]
            drawn += 1


def draw_items(
    batch: Batch, environment: Environment, random: np.random.Generator, row: int, added: float, single: Floats
) -> None:
    """Draw the rewards of all arms on the same items, item after item; `single` has them arm after arm."""
    several, items = batch.arms.shape[0], batch.pulls[0]
    lines = environment.starts[1] if environment.kind == TABLE else 1
    batch.sums[:] = 0.0
    for item in range(items):
        line, effect = item_of(environment, lines, random)
        for place in range(several):
            reward = draw_on(environment, batch.arms[place], random, row, added, line, effect)
            batch.sums[place] += reward
            single[place * items + item] = reward


def item_of(environment: Environment, lines: int, random: np.random.Generator) -> tuple[int, float]:
    """An item: its line in a table, and what it adds to all arms."""
    line = int(random.random() * lines) if environment.kind == TABLE else 0
    return line, environment.common * random.standard_normal() if environment.common > 0.0 else 0.0


def draw_on(
    environment: Environment,
    arm: int,
    random: np.random.Generator,
    row: int,
    added: float,
    line: int,
    effect: float,
) -> float:
    """One reward of an arm on an item."""
    low, high, level = environment.low, environment.high, environment.levels[row, arm]
    own = effect
    if environment.apart > 0.0:
        own += environment.apart * random.standard_normal()
    if environment.kind == TABLE:
        value = environment.values[environment.starts[arm] + line] + level - environment.levels[-1, arm]
        return float(min(max(value + added + own, low), high))
    if environment.kind == GAUSSIAN:
        return float(level + added + own + environment.spreads[arm] * random.standard_normal())
    if environment.kind == HEAVY:
        scale = environment.spreads[arm] * np.sqrt((FREEDOM - 2.0) / FREEDOM)
        return float(level + added + own + scale * random.standard_t(FREEDOM))
    if environment.kind == YES_NO:
        chance = rate((level - low) / (high - low), added + own)
        return high if random.random() < chance else low
    share = rate((min(max(level + added, low), high) - low) / (high - low), own)
    if share <= 0.0 or share >= 1.0:
        return float(low + (high - low) * share)
    spread = environment.spreads[arm]
    return float(low + (high - low) * random.beta(spread * share, spread * (1.0 - share)))


def settle(batch: Batch, rewards: Floats, width: float) -> None:
    """What a batch's sums against rivals come to, given all its rewards, arm after arm."""
    arms, pulls, ends = batch.arms, batch.pulls, np.cumsum(batch.pulls)
    wide = batch.against.shape[0] // arms.shape[0]
    factor = 1.0 if wide == PAIR else 1.0 / width
    places = np.empty(arms.max() + 1, np.int64)
    places[arms] = np.arange(arms.shape[0])
    batch.against[:] = 0.0
    for place in range(arms.shape[0]):
        if batch.rivals[place] >= 0:
            other = places[batch.rivals[place]]
            own = rewards[ends[place] - pulls[place] : ends[place]]
            theirs = rewards[ends[other] - pulls[other] : ends[other]]
            add_against(own, theirs, factor, wide, batch.against, place * wide)


def row_of(rows: int, site: int) -> int:
    """The row of the levels that a site has. What everybody knows from the beginning has the arms' own means.

    >>> [row_of(4, site) for site in (0, 2, 3, NOBODY)], row_of(1, 7)
    ([0, 2, 0, 3], 0)
    """
    if site == NOBODY or rows == 1:
        return rows - 1
    return int(np.remainder(site, rows - 1))  # which, compiled, has no error to look out for, as % has


def drift_at(drift: float, pace: float, known: int) -> float:
    """What a time adds to all means; it is counted in samples that the server knows."""
    return float(drift * np.sin(known * pace)) if drift != 0.0 else 0.0


def draw_sum(
    environment: Environment,
    arm: int,
    pulls: int,
    random: np.random.Generator,
    row: int = -1,
    added: float = 0.0,
) -> float:
    """The sum of the rewards of some pulls of an arm, distributed as if each had been drawn by itself.

    `row` is the site's among the levels, `added` what is added to all means at this time.
    """
    if environment.kind == GAUSSIAN:
        return draw_gaussian(environment, arm, pulls, random, row, added)
    return draw(environment, arm, pulls, random, row, added)[0]


def draw_gaussian(
    environment: Environment, arm: int, pulls: int, random: np.random.Generator, row: int, added: float
) -> float:
    """The same for Gaussian rewards."""
    return gaussian_sum(environment.levels[row, arm] + added, environment.spreads[arm], pulls, random)


def gaussian_sum(mean: float, noise: float, pulls: int, random: np.random.Generator) -> float:
    """Normal(nμ, nσ²); the random numbers are the same whatever the mean is."""
    return float(pulls * mean + np.sqrt(pulls) * noise * random.standard_normal())


def draw(
    environment: Environment,
    arm: int,
    pulls: int,
    random: np.random.Generator,
    row: int = -1,
    added: float = 0.0,
) -> tuple[float, float]:
    """The same sum, and with it the squares around the problem's centre.

    Gaussian: the squares around the mean are σ²χ² with n − 1 degrees of freedom, independent of the sum
    (Cochran's theorem). Yes-no: Binomial(n, p), where `added` is added to the log odds. Table: multinomial
    counts of its values. Bounded and heavy-tailed rewards have no shortcut and are drawn one by one, and so are
    those of items that differ, each of another one.
    """
    level: float = environment.levels[row, arm]
    spread: float = environment.spreads[arm]
    centre, low, high = environment.centre, environment.low, environment.high
    if environment.kind == GAUSSIAN:
        gaussian = gaussian_sum(level + added, spread, pulls, random)
        around = (gaussian - pulls * centre) ** 2 / pulls
        if pulls > 1:
            around += spread**2 * random.chisquare(pulls - 1)
        return gaussian, around
    if environment.kind == YES_NO and environment.common == 0.0 == environment.apart:
        ones = float(random.binomial(pulls, rate((level - low) / (high - low), added)))
        around = ones * (high - centre) ** 2 + (pulls - ones) * (low - centre) ** 2
        return pulls * low + (high - low) * ones, around
    total: float = 0.0
    square: float = 0.0
    if environment.common > 0.0 or environment.apart > 0.0:
        lines = environment.starts[arm + 1] - environment.starts[arm] if environment.kind == TABLE else 1
        for _ in range(pulls):
            line, effect = item_of(environment, lines, random)
            value = draw_on(environment, arm, random, row, added, line, effect)
            total += value
            square += (value - centre) ** 2
        return total, square
    if environment.kind == HEAVY:
        scale = spread * np.sqrt((FREEDOM - 2.0) / FREEDOM)
        for _ in range(pulls):
            value = level + added + scale * random.standard_t(FREEDOM)
            total += value
            square += (value - centre) ** 2
        return total, square
    if environment.kind == BOUNDED:
        mean = min(max(level + added, low), high)
        share = (mean - low) / (high - low)
        if share <= 0.0 or share >= 1.0:
            return pulls * mean, pulls * (mean - centre) ** 2
        for _ in range(pulls):
            part = random.beta(spread * share, spread * (1.0 - share))
            total += part
            square += (low + (high - low) * part - centre) ** 2
        return pulls * low + (high - low) * total, square
    shift = level - environment.levels[-1, arm] + added
    first, last = environment.starts[arm], environment.starts[arm + 1]
    if pulls <= last - first:
        for _ in range(pulls):
            value = environment.values[first + int(random.random() * (last - first))] + shift
            value = min(max(value, low), high)
            total += value
            square += (value - centre) ** 2
        return total, square
    left = pulls
    for place in range(first, last):
        if left == 0:
            break
        count = left if place == last - 1 else random.binomial(left, 1.0 / (last - place))
        value = min(max(environment.values[place] + shift, low), high)
        total += count * value
        square += count * (value - centre) ** 2
        left -= count
    return total, square


def rate(mean: Any, added: Any) -> Any:
    """expit(logit(p) + a) = p eᵃ/(1 − p + p eᵃ), of numbers or arrays; for a = 0 it is p to the last bit.

    >>> rate(np.array([0.02, 0.5, 1.0, 0.3]), np.array([0.0, np.log(3), -5.0, 1e9])).round(9).tolist()
    [0.02, 0.75, 1.0, 1.0]
    """
    odds = mean * np.exp(np.minimum(np.maximum(added, -MOST_LOG_ODDS), MOST_LOG_ODDS))
    return odds / (1.0 - mean + odds)
