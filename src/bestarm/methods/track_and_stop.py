"""Track-and-Stop with D-tracking (Garivier and Kaufmann, COLT 2016)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.outcomes import compared
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Pulls in the shares that are optimal if the means are as estimated, as the theory wants it.

    One agent that knows every reward at once: it sends no messages, and `agents` has no effect.

    - `threshold`: `proven`, or `heuristic` as in the experiments of the paper, for which there is no proof.
    - `outcomes`: whether arms are compared as `normal` or as `yes-no`.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {**compared(problem), "selection": "tracking", "trigger": "every-pull"}


TRACK_AND_STOP = Recipe(
    "track-and-stop",
    Kind.ALONE,
    defaults,
    "Garivier and Kaufmann, COLT 2016",
    when="one agent, sigma known or yes/no outcomes, and computing time to spare",
    field=True,
)
