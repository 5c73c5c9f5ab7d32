"""What people do who look at a p-value every day: it breaks its promise."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """All arms once in each round, until all differences to the leader are significant in a z-test.

    Nothing bounds how often it is wrong. It is here to be measured, and a test shows that it breaks delta.
    """
    return {"stopping": "peeking", "selection": "uniform", "trigger": "every-pull"}


PEEKING = Recipe(
    "peeking",
    Kind.ALONE,
    defaults,
    "Armitage, McPherson and Rowe, JRSS A 1969, on repeated significance tests",
    when="never; to see what it costs to look at a p-value every day",
    field=True,
)
