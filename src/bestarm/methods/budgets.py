"""The budget of the methods that have one."""

from __future__ import annotations

from bestarm.problem import Problem

EACH = 100  # samples an arm, where nobody says


def budget_of(problem: Problem) -> int:
    """The problem's, or 100 samples an arm."""
    return problem.budget or EACH * problem.K
