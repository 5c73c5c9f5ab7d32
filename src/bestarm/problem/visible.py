"""What a new study's problem may be called and described as: text that looks like what it is.

Studies that are there already keep their names, whatever these are; terminals and logs show them escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bestarm.names import check_text

if TYPE_CHECKING:
    from bestarm.problem.problem import Problem


def check_visible(problem: Problem) -> None:
    """A sentence about the first text that does not look like what it is; a description may have several lines.

    >>> import bestarm
    >>> check_visible(bestarm.Problem(["A", "A\\u00ad"]))
    Traceback (most recent call last):
    bestarm.errors.UserError: name of arm 2 is 'A\\xad'; it has a character that can't be seen (U+00AD, soft \
hyphen); leave it out.
    """
    check_text("name", problem.name)
    check_text("unit", problem.unit or "")
    for k, arm in enumerate(problem.arms, 1):
        check_text(f"name of arm {k}", arm)
    for arm, description in zip(problem.arms, problem.descriptions, strict=False):
        for line in description.split("\n"):
            check_text(f"description of arm {arm!r}", line)
