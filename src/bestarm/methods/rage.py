"""RAGE (Fiez, Jain, Jamieson and Ratliff, NeurIPS 2019), for arms with features."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Phases: in each one, the design that tells the arms that are left apart best, and nothing from before it.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect. Followed: the
    authors' own program, with σ in the place of 1. Departure: every arm is pulled once before the first
    phase, as everywhere here.

    - `stopping`: `span`, that of `sharp`, looks at all pulls after each phase, and holds for any sampling. No
      other test does: the phases are kept with least squares, and those of `lingape` and `falinpe` are ridge.
    """
    return {"stopping": "rage", "selection": "rage", "trigger": "every-pull"}


RAGE = Recipe(
    "rage",
    Kind.ALONE,
    defaults,
    "Fiez, Jain, Jamieson and Ratliff, NeurIPS 2019",
    when="one agent, features, sigma known, and whole phases that must be planned at once",
    field=True,
)
