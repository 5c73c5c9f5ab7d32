"""T3C: top two with transportation costs and a posterior draw for the leader (Shang et al., AISTATS 2020)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.outcomes import compared
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Tosses a coin between the best arm of a posterior draw and the arm cheapest to confuse with it.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in the experiments of the paper, for which there is no proof.
    - `outcomes`: whether arms are compared as `normal` or as `yes-no`.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {**compared(problem), "selection": "t3c", "trigger": "every-pull"}


T3C = Recipe(
    "t3c",
    Kind.ALONE,
    defaults,
    "Shang, de Heide, Kaufmann, Ménard and Valko, AISTATS 2020",
    when="one agent that prefers to draw at random",
    field=True,
)
