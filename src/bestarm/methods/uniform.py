"""What tools for A/B tests do: all arms equally often, and a sequential test (Johari et al., KDD 2017)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem
from bestarm.reward import YES_NO

ROUND: dict[str, Value] = {"selection": "uniform", "trigger": "every-pull"}


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """All arms once in each round, until every difference to the leader has an always valid p-value below δ.

    For yes/no outcomes Chernoff's test takes the place of the p-values. One agent: it sends no messages.

    - `prior`: the effect that is expected, in units of sigma.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {"stopping": "chernoff-yes-no" if problem.rewards == YES_NO else "msprt", **ROUND}


UNIFORM = Recipe(
    "uniform",
    Kind.ALONE,
    defaults,
    "Johari, Koomen, Pekelis and Walsh, KDD 2017",
    when="where all arms must get the same share, as in most A/B tests",
    field=True,
)
