"""What a world makes of a problem: the numbers of an environment, checked."""

from __future__ import annotations

import math
import warnings

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.errors import ProblemWarning, UserError
from bestarm.problem import Problem
from bestarm.reward import YES_NO
from bestarm.simulation.worlds.world import ALIASES, World

CONCENTRATION = 4.0  # of a bounded reward around its mean; 2 with mean ½ would be uniform


def kind_of(problem: Problem, world: World) -> str:
    """Where rewards come from: what the world says, else what the problem does."""
    if world.rewards is not None:
        return world.rewards
    return "table" if world.table else ALIASES.get(problem.rewards, problem.rewards)


def means_of(problem: Problem, kind: str) -> Floats:
    """The means of a problem that says them."""
    if problem.means is None:
        raise UserError(
            f"problem {problem.name!r} has no means, and a simulation needs the truth: "
            "give each arm a mean, give theta, or give a table of measured rewards."
        )
    means = np.array(problem.means, dtype=np.float64)
    if kind == "yes-no" and ((means < 0).any() or (means > 1).any()):
        raise UserError(f"rewards=yes-no needs means between 0 and 1; they are {means.tolist()}.")
    if kind == "yes-no" and problem.reward_range is not None:
        low, high = problem.reward_range
        if low > 0 or high < 1:
            raise UserError(f"rewards=yes-no are 0 or 1, and the reward_range is from {low:g} to {high:g}.")
    if kind == "bounded":
        if problem.rewards == YES_NO:
            raise UserError(f"rewards=bounded does not fit problem {problem.name!r}, whose rewards are 0 or 1.")
        if problem.reward_range is None:
            raise UserError("rewards=bounded needs a problem with a reward_range.")
        low, high = problem.reward_range
        if (means < low).any() or (means > high).any():
            raise UserError(f"rewards=bounded needs means between {low} and {high}.")
    return means


def table_of(problem: Problem, world: World) -> tuple[Floats, Counts, Floats]:
    """A table's values, arm after arm, where each arm's start, and their means."""
    table = world.table
    if problem.rewards == YES_NO and {"offsets", "drift", "interactions"} & set(world.given):
        raise UserError(
            f"the rewards of problem {problem.name!r} are 0 or 1: a table of them can't be moved by offsets, "
            "drift or interactions; take rewards=yes-no."
        )
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
    if problem.items and len({column.size for column in columns}) > 1:
        raise UserError(
            f"problem {problem.name!r} has items, and the table has not the same items for all arms; it must "
            "have a row for each item and a column for each arm."
        )
    starts = np.concatenate([[0], np.cumsum([column.size for column in columns])]).astype(np.int64)
    return np.concatenate(columns), starts, np.array([column.mean() for column in columns])


def spreads_of(problem: Problem, world: World, kind: str, means: Floats) -> Floats:
    """The standard deviation of a reward of each arm; of bounded ones the concentration of their distribution.

    The scatter of yes-no rewards and of a table follows from them.
    """
    if kind == "yes-no":
        warn_of_sigma(problem.name, problem.sigma, means)
    if world.noise is None and kind == "bounded":
        return np.full(problem.K, CONCENTRATION)
    if world.noise is not None and kind in ("yes-no", "table"):
        raise UserError(f"rewards={kind} have the scatter that follows from them; leave noise out.")
    if kind in ("yes-no", "table"):
        return np.zeros(problem.K)
    given = problem.sigma if world.noise is None else world.noise
    if given is None and (world.item_effects or world.item_interactions):
        given = 0.0
    if given is None:
        raise UserError(
            f"problem {problem.name!r} has no sigma, and a simulation needs to know how much rewards scatter: "
            "give noise, for instance 0.3."
        )
    noise = np.atleast_1d(np.array(given, dtype=np.float64))
    if noise.size not in (1, problem.K):
        raise UserError(f"noise has {noise.size} numbers; it must be one, or {problem.K}, one for each arm.")
    noise = np.array(np.broadcast_to(noise, problem.K))
    return concentrations_of(problem, means, noise) if kind == "bounded" else noise


def concentrations_of(problem: Problem, means: Floats, noise: Floats) -> Floats:
    """How narrow each arm's Beta distribution is: with mean p its variance is p(1 − p)/(c + 1)."""
    assert problem.reward_range is not None
    low, high = problem.reward_range
    shares = (means - low) / (high - low)
    most = (high - low) * np.sqrt(shares * (1 - shares))
    for arm, mean, widest, given in zip(problem.arms, means, most, noise, strict=True):
        if not 0 < given < widest:
            raise UserError(
                f"noise is {given:g}; rewards between {low:g} and {high:g} with the mean {mean:g} of arm "
                f"{arm!r} scatter by more than 0 and less than {widest:g}."
            )
    found: Floats = (most / noise) ** 2 - 1
    return found


def effects_of(problem: Problem, world: World) -> Floats:
    """What each site adds to the mean of each arm, offsets and interactions together; no rows if nothing."""
    matrix = () if isinstance(world.interactions, float) else world.interactions
    for place, row in enumerate(matrix):
        if len(row) != problem.K:
            raise UserError(
                f"interactions[{place}] has {len(row)} numbers; it must have {problem.K}, one for each arm."
            )
    if not world.offsets and not matrix:
        return np.zeros((0, problem.K))
    offsets = np.array(world.offsets or [0.0])
    deviations = np.array(matrix or [[0.0] * problem.K])
    sites = np.arange(math.lcm(len(offsets), len(deviations)))
    found: Floats = offsets[sites % len(offsets), None] + deviations[sites % len(deviations)]
    return found


def warn_of_sigma(name: str, sigma: float | None, rates: Floats) -> None:
    """A sigma that is too small for yes-no rewards voids what rests on it."""
    needed = max(bernoulli_sigma(float(rate)) for rate in rates)
    if sigma is not None and sigma < needed - 1e-9:
        warnings.warn(
            f"Bernoulli rewards of problem {name!r} need sigma of at least {needed:.4g} (0.5 is always "
            f"enough) and it has {sigma:.4g}: the guarantee does not hold.",
            ProblemWarning,
            stacklevel=4,
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
