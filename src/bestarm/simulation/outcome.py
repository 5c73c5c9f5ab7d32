"""What one simulated run came to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading


class Outcome(NamedTuple):
    """Counted as the paper counts.

    `samples` is every pull, the first ones and those never uploaded (`unsent`) included. One communication is
    one upload or one download; the last upload has no download. `switches` is how often an agent's arm changed.
    `arm` is the arm returned, or the leader of an undecided run (`stopped` false).
    """

    arm: int
    stopped: bool
    samples: int
    communications: int
    switches: int
    unsent: int
    breaking_index: float
    uploads: int


def is_wrong(means: Floats, epsilon: float) -> NDArray[np.bool_]:
    """For each arm, whether it is worse than the best by more than epsilon; rounding does not count.

    >>> is_wrong(np.array([0.9, 0.8, 0.7]), 0.1).tolist()
    [False, False, True]
    """
    behind = means.max() - means
    worse: NDArray[np.bool_] = behind > epsilon + 1e-12 * behind.max()
    return worse


def note(trace: Floats, row: int, samples: int, time: float, reading: Reading) -> int:
    """Write a row into a trace, as long as it has one; the number of rows written."""
    if row >= trace.shape[0]:
        return row
    trace[row, 0] = samples
    trace[row, 1] = time
    trace[row, 2] = reading.breaking_index
    trace[row, 3] = reading.evidence
    return row + 1
