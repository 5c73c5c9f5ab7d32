"""The less certain one of leader and challenger."""

from __future__ import annotations

from bestarm.core.arrays import Counts
from bestarm.core.breaking import Reading
from bestarm.core.making import one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.state import View


def balance(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """Of leader and challenger the one with the larger radius, which is the one with fewer pulls (tie: leader).

    The rule of FAMABPE (Algorithm 1, line 9) and of UGapEc.
    """
    return reading.leader if pulls[reading.leader] <= pulls[reading.challenger] else reading.challenger


BALANCE = Selection("balance", "of leader and challenger the one with fewer pulls", balance, one_arm)
