"""What is looked for: a problem, the checks of its numbers and names, and the files that it is read from."""

from bestarm.problem.problem import Problem

__all__ = ["Problem"]
