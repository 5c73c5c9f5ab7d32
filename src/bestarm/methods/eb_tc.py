"""EB-TC: top two with transportation costs (Jourdan et al., NeurIPS 2022); it can get stuck."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.outcomes import compared
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """As `eb-tci` without the added log T: an arm that was unlucky at the start may never be tried again.

    Its answers are right, but a run may not end: the paper says so, and a test shows it.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in the experiments of the paper, for which there is no proof.
    - `outcomes`: whether arms are compared as `normal` or as `yes-no`.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {**compared(problem), "selection": "eb-tc", "trigger": "every-pull"}


EB_TC = Recipe(
    "eb-tc",
    Kind.ALONE,
    defaults,
    "Jourdan, Degenne, Baudry, de Heide and Kaufmann, NeurIPS 2022",
    when="to see why the added log T of eb-tci is needed",
    field=True,
)
