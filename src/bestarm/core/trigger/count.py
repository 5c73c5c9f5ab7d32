"""FAMABPE's trigger: the samples have grown by a share."""

from __future__ import annotations

from bestarm.core.breaking import Reading
from bestarm.core.parameters import GAMMA
from bestarm.core.rules import Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View


def count(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The smallest n with `N + n > (1+γ) N` (Algorithm 1, line 11), in whole numbers: no tie can fall wrong.

    That is ⌊Nγ⌋ + 1. The whole part of N over γ's denominator goes by itself, so that no product overflows.
    """
    over, under = setting.gamma_over, setting.gamma_under
    return view.samples // under * over + view.samples % under * over // under + 1


COUNT = Trigger("count", "when the samples known have grown by the share gamma", count, parameters=(GAMMA,))
