"""What `estimate` assumes about the arms: means and noise, from a problem, from a pilot, or from gaps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import ProblemWarning, UserError
from bestarm.estimation.pilot import Pilot
from bestarm.problem import Problem
from bestarm.problem.checks import check_vector
from bestarm.reward import HIGHEST, check_number
from bestarm.simulation.worlds.truth import kind_of
from bestarm.simulation.worlds.world import World

GAPS = (0.25, 0.5, 1.0, 2.0)  # in units of the noise
THETAS = 5  # random directions of theta, for a linear problem that has none

Truths = list[tuple[float, list[Problem]]]


class Assumption(NamedTuple):
    """The world, for each gap the problems that share its runs, and in `sentence` what they assume."""

    world: World
    truths: Truths
    sentence: str


def assume(
    problem: Problem,
    world: World,
    pilot: Pilot | None,
    gaps: Sequence[float] | None,
    gap_over_noise: float | Sequence[float] | None,
    runs: int,
    seed: int,
    short: str,
) -> Assumption:
    """The problem's own means; or the pilot's; or, in turn, gaps between one best arm and all others.

    `short` names a method that promises something for theta of length at most 1 only; else it is empty.
    """
    world, unknown = with_noise(problem, world, pilot, gap_over_noise is not None)
    problem = without_range(problem) if unknown else problem
    unit = unit_of(problem, world)
    if gap_over_noise is not None:
        if gaps is not None:
            raise UserError("gaps and gap_over_noise are both given; leave one of them out.")
        gaps = [factor * unit for factor in factors_of(gap_over_noise)]
    measured = pilot if gaps is None and not problem.linear else None
    if measured is not None:
        problem = with_truth(problem, means=possible(problem, world, measured.means))
    if problem.means is not None and gaps is None:
        truths, sentence = as_it_is(problem)
    else:
        wanted = [factor * unit for factor in GAPS] if gaps is None else check_vector("gaps", gaps).tolist()
        truths, sentence = apart(problem, wanted, gaps is not None, runs, seed, short)
    if measured is not None:
        inside = measured.on_items if problem.items and measured.on_items else measured.noise
        sentence = (
            f"Assumed: the means and the noise of {inside:.3g} are those of {measured.what}. The gap "
            f"between the two best has a standard error of {measured.error:.2g}."
        )
    elif pilot is not None:
        sentence += f" The noise of {pilot.noise:.3g} is that of {pilot.what}."
    elif unknown:
        sentence += " Gaps are in units of the noise, which nobody knows yet."
    if pilot is not None and pilot.on_items is not None:
        sentence += " " + what_items_save(pilot, problem.items)
    return Assumption(world, truths, sentence)


def what_items_save(pilot: Pilot, items: bool) -> str:
    """How much less a difference of the two best scatters on the same items than on different ones."""
    assert pilot.on_items is not None
    less = (pilot.noise / pilot.on_items) ** 2
    if less < 1:
        return "On the same items the two best do not scatter less than on different ones: items save nothing."
    here = "Without them" if items else "With items = true"
    times = "more" if items else "fewer"
    return (
        f"On the same item a difference of the two best has {less:.1f} times less variance than on "
        f"different ones. {here} up to about {less:.1f} times {times} samples are needed."
    )


def with_noise(problem: Problem, world: World, pilot: Pilot | None, in_units: bool) -> tuple[World, bool]:
    """The world with the pilot's noise; or with 1 (and True) where only gaps in units of it are known."""
    kind = kind_of(problem, world)
    if world.noise is not None or kind == "yes-no":
        return world, False
    if pilot is not None and problem.items and pilot.on_items is not None:
        effects = math.sqrt(max(pilot.noise**2 - pilot.on_items**2, 0.0)) if kind == "gaussian" else 0.0
        return replace(world, noise=pilot.on_items, item_effects=effects), False
    if pilot is not None:
        return replace(world, noise=pilot.noise), False
    if problem.sigma is not None or kind == "bounded":
        return world, False
    if not in_units:
        raise UserError(
            f"problem {problem.name!r} has no sigma, and an estimate needs to know how much rewards scatter: "
            "give noise (--noise), a pilot (--pilot), or gap_over_noise (--gap-over-noise)."
        )
    return replace(world, noise=1.0), True


def without_range(problem: Problem) -> Problem:
    """The problem in units of the noise, in which nobody knows where its range of rewards lies."""
    table = problem.to_dict()
    return Problem.from_dict({key: table[key] for key in table if key not in ("reward_range", "centre")})


def unit_of(problem: Problem, world: World) -> float:
    """About how much a reward scatters, for gaps: the noise, else sigma, else half of where rewards lie."""
    if world.noise is not None:
        return math.sqrt(np.mean(np.square(world.noise)))
    if problem.sigma is not None:
        return problem.sigma
    low, high = problem.reward_range or (0.0, 1.0)
    return high / 2 - low / 2


def factors_of(given: float | Sequence[float]) -> list[float]:
    """One or several multiples of the noise."""
    factors = [given] if isinstance(given, int | float) else check_vector("gap_over_noise", given).tolist()
    return [check_number("gap_over_noise", factor, "a number above 0", lambda x: x > 0) for factor in factors]


def possible(problem: Problem, world: World, means: Floats) -> list[float]:
    """Means that a reward can have: corrected for the sites they may have left the range."""
    low, high = problem.reward_range or (-math.inf, math.inf)
    if kind_of(problem, world) == "yes-no":
        low, high = max(low, 0.0), min(high, 1.0)
    return [min(max(mean, low), high) for mean in means.tolist()]


def as_it_is(problem: Problem) -> tuple[Truths, str]:
    """The means that the problem has."""
    assert problem.means is not None
    second, best = np.sort(problem.merits(problem.means))[-2:].tolist()
    if best == second and problem.epsilon == 0:
        raise UserError("the two best arms are equally good and epsilon is 0: no number of samples decides.")
    return [(best - second, [problem])], "The means are the problem's own; the gap is best to second best."


def apart(
    problem: Problem, wanted: list[float], given: bool, runs: int, seed: int, short: str
) -> tuple[Truths, str]:
    """One arm is best, and the others are worse by a gap, or means are linear in the features."""
    if not wanted:
        raise UserError("gaps is empty; it must have at least one number.")
    for gap in wanted:
        check_number("a gap", gap, "a number above 0", lambda x: x > 0)
    if problem.features is not None:
        return linear(problem, wanted, runs, seed, short)
    low, high = problem.reward_range or (-math.inf, math.inf)
    if not given:
        wanted = [gap for gap in wanted if gap < high - low]
    elif max(wanted) > high - low:
        raise UserError(f"a gap is {max(wanted):g}; the reward_range from {low:g} to {high:g} is smaller.")
    middle = 0.5 * low + 0.5 * high if problem.reward_range else 0.5
    ahead = 1.0 if problem.goal == HIGHEST else -1.0
    means = [[middle + ahead * gap / 2] + [middle - ahead * gap / 2] * (problem.K - 1) for gap in wanted]
    truths = [[with_truth(problem, means=one)] for one in means]
    sentence = "Assumed: one arm is best, and all others are worse by the gap."
    return list(zip(wanted, truths, strict=True)), sentence


def linear(problem: Problem, gaps: list[float], runs: int, seed: int, short: str) -> tuple[Truths, str]:
    """Random directions of theta, each as long as a gap asks for."""
    assert problem.features is not None
    # −θ is the direction in which the arm that is best for θ is the lowest.
    thetas = [problem.merits(theta) for theta in random_thetas(problem.features, min(THETAS, runs), seed)]
    sentence = (
        f"Assumed: means are features · theta, for {len(thetas)} random directions of theta (seed {seed}) that "
        "share the runs; theta is as long as the gap between best and second best asks for. The intervals are "
        "for these directions, not for all."
    )
    longest = max(gaps) * max(float(np.linalg.norm(theta)) for theta in thetas)
    if longest > 1 and short:
        sentence += f" The longest theta has length {longest:.3g}; {short} promises something for at most 1."
    if problem.reward_range is not None:
        sentence += " Rewards are Gaussian, so the reward_range does not limit them."
    found = [(gap, [with_truth(problem, theta=gap * theta) for theta in thetas]) for gap in gaps]
    return found, sentence


def random_thetas(features: Floats, count: int, seed: int) -> list[Floats]:
    """Uniform directions, scaled so that the best arm is better than the second best by 1."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1,)))
    found: list[Floats] = []
    for _ in range(100 * count):
        theta = random.standard_normal(features.shape[1])
        means = np.sort(features @ theta)
        # Two arms with the same features may be best together; such a direction is no use.
        if means[-1] - means[-2] > 1e-9 * np.abs(means).max():
            found.append(theta / (means[-1] - means[-2]))
        if len(found) == count:
            return found
    raise UserError("arms with the same features are always among the best; leave one of each such pair out.")


def with_truth(problem: Problem, *, means: list[float] | None = None, theta: Floats | None = None) -> Problem:
    """The problem with an assumed truth. A theta may leave the reward range, so sigma stands for it."""
    table = problem.to_dict()
    if means is not None:
        table["arm"] = [arm | {"mean": mean} for arm, mean in zip(table["arm"], means, strict=True)]
    if theta is not None:
        table["arm"] = [{key: arm[key] for key in arm if key != "mean"} for arm in table["arm"]]
        table = {key: table[key] for key in table if key not in ("rewards", "reward_range", "centre")}
        table |= {"theta": theta.tolist()} | ({} if problem.sigma is None else {"sigma": problem.sigma})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # said when the problem was made
        return Problem.from_dict(table)
