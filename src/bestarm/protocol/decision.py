"""When two verdicts are the same, though the last bits of their numbers differ.

The arithmetic of this package has one order of operations, but the libraries that compute a logarithm may
differ in its last bit. So what was decided is in the log, and holds; the numbers beside it are compared within
a tolerance, and what lies outside of it is an alarm.
"""

from __future__ import annotations

import math

from bestarm.verdict import Verdict

TOLERANCE = 1e-9  # relative, and absolute for numbers below 1; far more than rounding makes of a long log


def agree(said: Verdict, found: Verdict) -> bool:
    """Whether two verdicts have the same names and samples, and numbers within the tolerance.

    >>> a, b = Verdict(True, "A", "B", -0.1, 1.0, 40), Verdict(False, "A", "B", -0.1, 1.0 - 2**-53, 40)
    >>> agree(a, b), agree(a, Verdict(True, "A", "B", -0.1, 1.001, 40))
    (True, False)
    """
    return (said.leader, said.challenger, said.samples) == (found.leader, found.challenger, found.samples) and (
        close(said.breaking_index, found.breaking_index) and close(said.evidence, found.evidence)
    )


def close(said: float, found: float) -> bool:
    """Whether two numbers are the same within the tolerance."""
    return math.isclose(said, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
