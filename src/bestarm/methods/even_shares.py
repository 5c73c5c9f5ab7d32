"""A fixed budget shared evenly: what is done where nothing is decided in between."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.budgets import budget_of
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Every arm gets its share of the budget, and the best mean is the answer.

    One agent: it sends no messages. Nothing bounds how often the answer is wrong.

    - `budget`: all samples together; the problem's, or 100 an arm.
    - `stopping`: any other test, for instance `pairs`, may end it sooner, or later: it goes on until that is
      settled.
    """
    return {"stopping": "shares", "selection": "uniform", "trigger": "every-pull", "budget": budget_of(problem)}


EVEN_SHARES = Recipe(
    "even-shares",
    Kind.ALONE,
    defaults,
    "Bubeck, Munos and Stoltz, ALT 2009",
    when="for comparison with other ways to spend a budget",
    field=True,
)
