"""lil'UCB (Jamieson et al., COLT 2014)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Pulls the arm with the highest upper limit until one arm has most of the pulls.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `constants`: `proven`, which costs a lot, or `heuristic` as in the paper's experiments, without a proof.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {"stopping": "lil-ucb", "selection": "lil-ucb", "trigger": "every-pull", "constants": "proven"}


LIL_UCB = Recipe(
    "lil-ucb",
    Kind.ALONE,
    defaults,
    "Jamieson, Malloy, Nowak and Bubeck, COLT 2014",
    when="for comparison; its proven constants are large",
    field=True,
)
