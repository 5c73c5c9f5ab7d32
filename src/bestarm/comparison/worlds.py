"""Worlds that have a name: a problem, how its rewards come about, and which assumptions do not hold there."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bestarm.errors import UserError, either
from bestarm.methods.composed import Method
from bestarm.methods.needs import unmet
from bestarm.problem import Problem
from bestarm.simulation.worlds.world import PLAIN, World

DELTA = 0.1
NOISE = 0.3
# What a promise may rest on, and a world may not give.
SIGMA, ALIKE, TAILS = "sigma", "alike", "tails"


@dataclass(frozen=True)
class NamedWorld:
    """A problem with its rewards. `lacks` are the assumptions that do not hold in it.

    These are `sigma` (the noise is larger than the method is told), `alike` (sites or times differ) and `tails`
    (rewards stray further than normal ones).
    """

    name: str
    help: str
    problem: Problem
    world: World = PLAIN
    lacks: tuple[str, ...] = ()

    def promised(self, method: Method) -> bool:
        """Whether the method claims to be right here: it has a proof, and what the proof needs is true here."""
        test = method.test
        needs = {
            SIGMA: test.noise == "known" or (test.noise == "either" and method.problem.sigma is not None),
            ALIKE: test.sites_alike,
            TAILS: test.noise != "none",
        }
        given = unmet(test, self.problem) is None
        return method.proven and given and not any(needs[lacking] for lacking in self.lacks)


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
            (SIGMA,),
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
            (ALIKE,),
        ),
        NamedWorld(
            "drift",
            "all means move up and down together",
            normal("drift", STAIRS, sites="differ"),
            World(noise=NOISE, drift=0.5),
            (ALIKE,),
        ),
        NamedWorld(
            "interactions",
            "arms differ from site to site, the best one stays the best",
            normal("interactions", STAIRS, sites="differ"),
            World(noise=NOISE, interactions=0.15),
            (ALIKE,),
        ),
        NamedWorld(
            "heavy",
            "rewards stray further than normal ones (Student's t with 3 degrees of freedom)",
            normal("heavy", STAIRS),
            World(rewards="heavy", noise=NOISE),
            (TAILS,),
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
    if name not in WORLDS:
        raise UserError(f"there is no world {name!r}; there are {either(WORLDS)}.")
    return WORLDS[name]
