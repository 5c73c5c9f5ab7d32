"""TTTS: top-two Thompson sampling (Russo, COLT 2016)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.outcomes import compared
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Tosses a coin between the best arm of a posterior draw and the first other one of further draws.

    Slow: near the end a challenger takes about 1/δ draws of all arms.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in the experiments of the paper, for which there is no proof.
    - `outcomes`: whether arms are compared as `normal` or as `yes-no`.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {**compared(problem), "selection": "ttts", "trigger": "every-pull"}


TTTS = Recipe(
    "ttts",
    Kind.ALONE,
    defaults,
    "Russo, COLT 2016",
    when="for comparison; t3c does the same and is quicker to compute",
    field=True,
)
