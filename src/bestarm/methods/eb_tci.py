"""EB-TCI: top two with transportation costs and improved exploration (Jourdan et al., NeurIPS 2022)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.outcomes import compared
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Tosses a coin between the empirical best and the arm cheapest to confuse with it, new ones first.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in the experiments of the paper, for which there is no proof.
    - `outcomes`: whether arms are compared as `normal` or as `yes-no`.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {**compared(problem), "selection": "eb-tci", "trigger": "every-pull"}


EB_TCI = Recipe(
    "eb-tci",
    Kind.ALONE,
    defaults,
    "Jourdan, Degenne, Baudry, de Heide and Kaufmann, NeurIPS 2022",
    when="one agent, sigma known or yes/no outcomes; as quick as Track-and-Stop and much cheaper to compute",
    field=True,
)
