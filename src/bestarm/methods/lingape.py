"""LinGapE: the single-agent baseline for arms with features (Xu et al., AISTATS 2018)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """One agent that knows every reward at once; the arm that tells most about the gap.

    Features and θ have length at most 1. The reference for samples, not for messages: it sends none.

    - `lambda` (`lambda_` in Python): regularisation.
    - `selection`: `greedy` or `ratio`.
    """
    return {"stopping": "lingape", "selection": "greedy", "trigger": "every-pull", "lambda": 1.0}


LINGAPE = Recipe(
    "lingape",
    Kind.ALONE,
    defaults,
    "Xu et al., AISTATS 2018",
    colour="#56B4E9",
    mark="v",
    when="to reproduce the paper, or to compare with it",
)
