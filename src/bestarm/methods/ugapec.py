"""UGapEc: the single-agent baseline for arms without features (Gabillon et al., NeurIPS 2012)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """One agent that knows every reward at once; of leader and challenger the less certain arm.

    The reference for samples, not for messages: it sends none. `agents` has no effect.
    """
    return {"stopping": "ugapec", "selection": "balance", "trigger": "every-pull"}


UGAPEC = Recipe(
    "ugapec",
    Kind.ALONE,
    defaults,
    "Gabillon et al., NeurIPS 2012",
    colour="#009E73",
    mark="^",
    when="to reproduce the paper, or to compare with it",
)
