"""The arm whose next pull tells most about the gap of leader and challenger."""

from __future__ import annotations

import numpy as np

from bestarm.core.algebra import product, times
from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.making import one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.stopping.linear import row_products


def greedy(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """The arm whose next pull shrinks ‖x_i − x_j‖ the most: argmin_k y'(V + x_k x_k')⁻¹ y, (15).

    By Sherman–Morrison this is argmax_k (x_k'V⁻¹y)² / (1 + x_k'V⁻¹x_k).
    Departure: the paper prints argmax; with argmax it does not stop. LinGapE's rule is argmin.
    """
    features = setting.features
    mapped = product(features, view.inverse)
    toward = times(mapped, features[reading.leader] - features[reading.challenger])
    return int(np.argmax(toward * toward / (1.0 + row_products(mapped, features))))


GREEDY = Selection(
    "greedy",
    "the arm whose next pull tells most about the gap (the paper proves nothing about it)",
    greedy,
    one_arm,
    needs_features=True,
    needs_linear=True,
)
