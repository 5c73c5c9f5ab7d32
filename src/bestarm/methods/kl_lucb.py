"""KL-LUCB, for yes/no outcomes (Kaufmann and Kalyanakrishnan, COLT 2013)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """LUCB with the intervals that yes/no outcomes have.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in many experiments, for which there is no proof.
    - `stopping`: any other test, for instance `chernoff-yes-no`.
    """
    return {"stopping": "kl-lucb", "selection": "kl-lucb", "trigger": "every-pull", "threshold": "proven"}


KL_LUCB = Recipe(
    "kl-lucb",
    Kind.ALONE,
    defaults,
    "Kaufmann and Kalyanakrishnan, COLT 2013",
    when="one agent with yes/no outcomes who wants intervals",
    field=True,
)
