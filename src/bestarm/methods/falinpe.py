"""FALinPE: the paper's method for arms with features (Wang et al., UAI 2024, Algorithm 2)."""

from __future__ import annotations

import math

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """The arm that tells most about the gap of leader and challenger, until determinant or samples have grown.

    Rewards are x'θ plus noise, with features and θ of length at most 1. The arm returned is within ε of the
    best with probability at least 1 − δ (Theorem 2). The defaults are the theorem's.

    - `gamma1`, `gamma2`: upload when det V has grown by the share γ₁ = 1/agents², or the samples by
      γ₂ = 1/(2·agents·arms).
    - `lambda` (`lambda_` in Python): regularisation; the theorem's largest,
      `σ²(√(1+γ₁M) + √(2γ₁) M)² log(2/δ)`.
    - `selection`: `ratio` (the linear programme) or `greedy` (the paper proves nothing about it).
    - `stopping`, `trigger`: the other rules; change one to see what it contributes.
    - `min_batch`: an agent never uploads fewer pulls of an arm than this.
    """
    sigma = 1.0 if problem.sigma is None else problem.sigma  # where it is not known, the test refuses
    gamma1 = 1 / agents**2
    inflation = math.sqrt(1 + gamma1 * agents) + math.sqrt(2 * gamma1) * agents
    return {
        "gamma1": gamma1,
        "gamma2": 1 / (2 * agents * len(problem.arms)),
        "lambda": sigma**2 * inflation**2 * math.log(2 / problem.delta),
        "stopping": "falinpe",
        "selection": "ratio",
        "trigger": "determinant",
        "pseudo_count": 10.0,
        "thrift": "balanced",
        "min_batch": 1,
    }


FALINPE = Recipe(
    "falinpe",
    Kind.FEDERATED,
    defaults,
    "Wang et al., UAI 2024, Algorithm 2",
    sends_total=True,
    colour="#E69F00",
    mark="D",
    when="to reproduce the paper, or to compare with it",
)
