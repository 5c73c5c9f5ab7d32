"""Worlds that have a name: a problem, how its rewards come about, and which assumptions do not hold there."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from bestarm.errors import ProblemWarning, UserError, either
from bestarm.methods.composed import Method
from bestarm.methods.needs import unmet
from bestarm.problem import Problem
from bestarm.reward import NORMAL
from bestarm.simulation.environment import Environment, environment
from bestarm.simulation.truth import bernoulli_sigma, kind_of
from bestarm.simulation.world import PLAIN, World

DELTA = 0.1
NOISE = 0.3
ROUNDING = 1e-9
NO_PROOF = "there is no proof for it"
# What a promise may rest on, and a world may not give: why nothing is promised then.
SIGMA, TAILS, EVEN, RANGE, ALIKE, ONE_BEST, LINEAR = range(7)
LACKING = {
    SIGMA: "rewards stray further than the sigma that it is told",
    TAILS: "it assumes noise that is about normal",
    EVEN: "it measures one sigma for all arms, and they differ",
    RANGE: "rewards do not keep to what it is told of them",
    ALIKE: "it assumes that an arm's mean is the same at every site and all the time",
    ONE_BEST: "no arm is the best at every site",
    LINEAR: "the means are not linear in the features",
}


@dataclass(frozen=True)
class NamedWorld:
    """A problem with its rewards, and what it lacks of that which promises rest on."""

    name: str
    help: str
    problem: Problem
    world: World = PLAIN

    def promised(self, method: Method) -> bool:
        """Whether the method claims to be right here: it has a proof, and what the proof needs is true here."""
        return not self.against(method)

    def against(self, method: Method) -> str:
        """Why it does not, in a few words.

        >>> import bestarm
        >>> lucb = bestarm.method("lucb", WORLDS["stairs"].problem)
        >>> WORLDS["stairs"].against(lucb), WORLDS["offsets"].against(lucb)
        ('', "it assumes that an arm's mean is the same at every site and all the time")
        """
        test = method.test
        if not method.proven:
            return NO_PROOF
        need = unmet(test, self.problem)
        if need is not None:
            return f"it needs {need.words}"
        shared = test.noise == "either" and method.problem.sigma is None
        rests = {
            SIGMA: test.noise in ("known", "either") and not shared,
            TAILS: test.noise == "own" or shared,
            EVEN: shared,
            RANGE: test.in_range or test.yes_no,
            ALIKE: test.sites_alike,
            ONE_BEST: True,
            LINEAR: test.model.linear,
        }
        return next((LACKING[lacking] for lacking in self.lacks if rests[lacking]), "")

    @property
    def lacks(self) -> list[int]:
        """Which assumptions do not hold in it."""
        problem, world = self.problem, self.world
        if world == PLAIN:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)  # it comes with the runs
            there = environment(problem, world)
        kind, told = kind_of(problem, world), problem.sigma
        fixed = world.interactions if isinstance(world.interactions, tuple) else ()
        apart = bool(np.any(fixed) if fixed else world.interactions)
        differ = apart or any(world.offsets) or world.drift != 0.0
        merits = np.array([problem.merits(row) for row in there.levels])
        truths = {
            SIGMA: told is not None and scale_of(there, kind, differ) > told + ROUNDING,
            TAILS: kind == "heavy" or (problem.rewards == NORMAL and kind != "gaussian"),
            EVEN: kind == "gaussian" and there.spreads.min() < there.spreads.max(),
            RANGE: problem.rewards != NORMAL and kind in ("gaussian", "heavy"),
            ALIKE: differ,
            ONE_BEST: (merits[:, merits[-1].argmax()] < merits.max(axis=1)).any(),
            LINEAR: problem.linear and (apart or kind == "table" or (differ and kind == "yes-no")),
        }
        return [word for word, lacking in truths.items() if lacking]


def scale_of(there: Environment, kind: str, differ: bool) -> float:
    """The smallest sub-Gaussian scale of rewards that is known of a world."""
    if kind == "gaussian":
        return float(there.spreads.max())
    if kind == "yes-no":
        moved = differ or there.common > 0.0 or there.apart > 0.0
        return 0.5 if moved else max(bernoulli_sigma(float(mean)) for mean in there.means)
    if kind == "bounded":
        return 0.5 * (there.high - there.low)
    if kind == "table":
        columns = np.split(there.values, there.starts[1:-1])
        return 0.5 * max(float(np.ptp(column)) for column in columns)
    return math.inf


def normal(name: str, means: list[float], sigma: float | None = NOISE, sites: str = "alike") -> Problem:
    """A problem whose arms have these means."""
    arms = [f"arm-{k}" for k in range(1, len(means) + 1)]
    return Problem(arms, means=means, sigma=sigma, delta=DELTA, sites=sites, name=name)


def yes_no(name: str, rates: list[float]) -> Problem:
    """The same for rates of yes/no outcomes."""
    arms = [f"arm-{k}" for k in range(1, len(rates) + 1)]
    return Problem(arms, means=rates, rewards="yes-no", delta=DELTA, sites="alike", name=name)


def on_a_circle(name: str, arms: int) -> Problem:
    """Arms whose features lie on a half circle: the best one, its neighbours, and all the others."""
    angles = [math.pi * k / (arms - 1) - math.pi / 2 for k in range(arms)]
    return Problem(
        [f"arm-{k}" for k in range(1, arms + 1)],
        features=[[math.cos(angle), math.sin(angle)] for angle in angles],
        theta=[math.cos(0.9), math.sin(0.9)],
        sigma=NOISE,
        delta=DELTA,
        sites="alike",
        name=name,
    )


STAIRS = [0.9, 0.75, 0.6, 0.45, 0.3]
NOISY = World(noise=NOISE)

WORLDS: dict[str, NamedWorld] = {
    found.name: found
    for found in (
        NamedWorld("equal", "all other arms are equally far behind", normal("equal", [0.9, *[0.75] * 4])),
        NamedWorld(
            "rival", "one rival is close, the others are not", normal("rival", [0.9, 0.8, 0.4, 0.3, 0.2])
        ),
        NamedWorld("stairs", "each arm is as far behind the one before it", normal("stairs", STAIRS)),
        NamedWorld("many", "thirty arms", normal("many", [0.9, *(0.7 - 0.02 * k for k in range(29))])),
        NamedWorld("linear", "fifteen arms in two dimensions", on_a_circle("linear", 15)),
        NamedWorld(
            "no-sigma", "nobody is told how large the noise is", normal("no-sigma", STAIRS, None), NOISY
        ),
        NamedWorld(
            "sigma-half",
            "the noise is twice as large as it is told to be",
            normal("sigma-half", STAIRS, NOISE / 2),
            NOISY,
        ),
        NamedWorld(
            "sigma-double",
            "the noise is half as large as it is told to be",
            normal("sigma-double", STAIRS, 2 * NOISE),
            NOISY,
        ),
        NamedWorld(
            "offsets",
            "sites differ by as much as the noise",
            normal("offsets", STAIRS, sites="differ"),
            World(noise=NOISE, offsets=(0.0, 0.3, -0.3, 0.6, -0.6)),
        ),
        NamedWorld(
            "drift",
            "all means move up and down together",
            normal("drift", STAIRS, sites="differ"),
            World(noise=NOISE, drift=0.5),
        ),
        NamedWorld(
            "interactions",
            "arms differ from site to site, the best one stays the best",
            normal("interactions", STAIRS, sites="differ"),
            World(noise=NOISE, interactions=0.15),
        ),
        NamedWorld(
            "heavy",
            "rewards stray further than normal ones (Student's t with 3 degrees of freedom)",
            normal("heavy", STAIRS),
            World(rewards="heavy", noise=NOISE),
        ),
        NamedWorld(
            "noises",
            "arms differ in noise, and the largest is told",
            normal("noises", STAIRS),
            World(noise=(0.3, 0.1, 0.3, 0.2, 0.1)),
        ),
        NamedWorld("rates-30", "yes/no outcomes at 30 %", yes_no("rates-30", [0.3, 0.21, 0.2, 0.19, 0.18])),
        NamedWorld("rates-2", "yes/no outcomes at 2 %", yes_no("rates-2", [0.02, 0.01, 0.01])),
    )
}


def world_of(name: str) -> NamedWorld:
    """A world by its name."""
    if not isinstance(name, str) or name not in WORLDS:
        raise UserError(f"there is no world {name!r}; there are {either(WORLDS)}.")
    return WORLDS[name]
