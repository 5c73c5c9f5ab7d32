"""FAMABPE: the paper's method for arms without features (Wang et al., UAI 2024, Algorithm 1)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Of leader and challenger the less certain arm, until the samples have grown by a share γ.

    Stops when the breaking index of the total falls to ε; the arm returned is within ε of the best with
    probability at least 1 − δ (Theorem 1). The defaults are the theorem's.

    - `gamma`: upload when the samples known have grown by this share; 1/(2·agents·arms).
    - `stopping`, `selection`, `trigger`: the three rules; change one to see what it contributes.
    - `pseudo_count` belongs to `stopping=pairs`, `thrift` to `trigger=aim`.
    - `min_batch`: an agent never uploads fewer pulls of an arm than this.
    """
    return {
        "gamma": 1 / (2 * agents * len(problem.arms)),
        "stopping": "famabpe",
        "selection": "balance",
        "trigger": "count",
        "pseudo_count": 10.0,
        "thrift": "balanced",
        "min_batch": 1,
    }


FAMABPE = Recipe(
    "famabpe",
    Kind.FEDERATED,
    defaults,
    "Wang et al., UAI 2024, Algorithm 1",
    sends_total=True,
    colour="#D55E00",
    mark="s",
    when="to reproduce the paper, or to compare with it",
)
