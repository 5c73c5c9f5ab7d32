"""What one simulated run came to."""

from __future__ import annotations

from typing import NamedTuple


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
