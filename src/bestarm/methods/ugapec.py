"""UGapEc: the single-agent baseline for arms without features (Gabillon et al., NeurIPS 2012)."""

from __future__ import annotations

from bestarm.methods.method import Kind, Parameter
from bestarm.problem import Problem

KIND = Kind.ALONE


def defaults(problem: Problem, agents: int) -> dict[str, Parameter]:
    """One agent that knows every reward at once; of leader and challenger the less certain arm.

    The reference for samples, not for messages: it sends none. `agents` has no effect.
    """
    return {"stopping": "ugapec", "selection": "balance", "trigger": "every-pull"}
