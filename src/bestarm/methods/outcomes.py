"""How the methods of the field compare arms: as normal or as yes/no outcomes."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.problem import Problem
from bestarm.reward import YES_NO


def compared(problem: Problem) -> dict[str, Value]:
    """Chernoff's test for the outcomes that the problem has."""
    if problem.rewards == YES_NO:
        return {"stopping": "chernoff-yes-no", "outcomes": "yes-no", "threshold": "proven"}
    return {"stopping": "chernoff", "outcomes": "normal", "threshold": "proven"}
