"""Sequential halving, for a fixed budget (Karnin, Koren and Somekh, ICML 2013)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.budgets import budget_of
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """In each phase all arms that are left get equally many pulls; then the better half stays.

    One agent: it sends no messages. Nothing bounds how often the answer is wrong.

    - `budget`: all samples together; the problem's, or 100 an arm.
    - `stopping`: any other test, for instance `pairs`, may end it sooner, or later: it goes on until that is
      settled.
    """
    return {
        "stopping": "halving",
        "selection": "halving",
        "trigger": "every-pull",
        "budget": budget_of(problem),
    }


HALVING = Recipe(
    "halving",
    Kind.ALONE,
    defaults,
    "Karnin, Koren and Somekh, ICML 2013",
    when="a budget that can't be exceeded, many arms, and no promise needed",
    field=True,
)
