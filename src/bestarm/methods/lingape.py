"""LinGapE: the single-agent baseline for arms with features (Xu et al., AISTATS 2018)."""

from __future__ import annotations

from bestarm.methods.method import Kind, Parameter
from bestarm.problem import Problem

KIND = Kind.ALONE


def defaults(problem: Problem, agents: int) -> dict[str, Parameter]:
    """One agent that knows every reward at once; the arm that tells most about the gap.

    Features and θ have length at most 1. The reference for samples, not for messages: it sends none.

    - `lambda` (`lambda_` in Python): regularisation.
    - `selection`: `greedy` or `ratio`.
    """
    return {"stopping": "lingape", "selection": "greedy", "trigger": "every-pull", "lambda": 1.0}
