"""LUCB (Kalyanakrishnan et al., ICML 2012)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """In each round the leader and the arm with the highest upper limit, until their intervals are apart.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {"stopping": "lucb", "selection": "lucb", "trigger": "every-pull"}


LUCB = Recipe(
    "lucb",
    Kind.ALONE,
    defaults,
    "Kalyanakrishnan, Tewari, Auer and Stone, ICML 2012",
    when="one agent who wants the simplest rule with a proof",
    field=True,
)
