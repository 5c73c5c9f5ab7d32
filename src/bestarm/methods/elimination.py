"""Successive elimination (Even-Dar, Mannor and Mansour, JMLR 2006)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """All arms once in each round; an arm that is clearly behind is never pulled again.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {"stopping": "elimination", "selection": "elimination", "trigger": "every-pull"}


ELIMINATION = Recipe(
    "elimination",
    Kind.ALONE,
    defaults,
    "Even-Dar, Mannor and Mansour, JMLR 2006",
    when="one agent who can pull all arms side by side, plate after plate",
    field=True,
)
