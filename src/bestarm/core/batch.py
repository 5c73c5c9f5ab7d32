"""What one upload adds, in the form that a test folds into its state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats

NOBODY = -1  # the site of what everybody knows from the beginning
NONE = np.empty(0)
NOONE = np.empty(0, np.int64)


class Batch(NamedTuple):
    """One site's pulls between two messages: each arm once, with its pulls and the sum of what they gave.

    `squares` are sums of (reward − centre)², and empty unless the test asks for them. `against` are the sums of
    `core.bets` of each arm against its rival, so many for each arm in its turn, and `rivals` who these are, −1
    for none; both are empty unless the test asks for them. `site` is the number of the site in the order in
    which the sites joined.
    """

    site: int
    arms: Counts
    pulls: Counts
    sums: Floats
    squares: Floats
    against: Floats = NONE
    rivals: Counts = NOONE
