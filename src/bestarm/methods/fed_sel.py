"""Fed-SEL (Mitra, Hassani and Pappas, 2021): sites that have arms of their own."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Each site tries its own arms only, and eliminates among them; then the sites' winners meet in rounds.

    It is for another problem than the rest: arm k can be tried at site k mod M and nowhere else. So a world in
    which sites differ would be another question, and is refused. Followed: both phases, successive elimination
    at home without a message, and rounds in which only sites that are left report. Departure: a message
    holds the numbers themselves, not some bits of them; the radii are those of `elimination`; the sites wait
    until each has its winner. It gets stuck where the two best arms of a site are equally good.

    - `steps`: pulls of a site's winner between two rounds.
    - `stopping`: no other test: this one keeps what each site eliminated at home, which the selection goes by.
    """
    return {"stopping": "fed-sel", "selection": "fed-sel", "trigger": "every-pull", "steps": 100}


FED_SEL = Recipe(
    "fed-sel",
    Kind.SYNCHRONOUS,
    defaults,
    "Mitra, Hassani and Pappas, 2021",
    when="each site has options of its own, which nobody else can try",
    field=True,
)
