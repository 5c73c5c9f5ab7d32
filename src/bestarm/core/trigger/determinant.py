"""FALinPE's trigger: the determinant or the samples have grown by a share."""

from __future__ import annotations

from bestarm.core.algebra import inner, times
from bestarm.core.breaking import Reading
from bestarm.core.parameters import GAMMA1, GAMMA2
from bestarm.core.rules import Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.trigger.count import count


def determinant(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """The smallest n with `det(V + n xx')/det V > 1+γ₁` or `N + n > (1+γ₂) N` (Algorithm 2, line 11).

    One arm x is pulled between two uploads, so the ratio of determinants is `1 + n ‖x‖²_{V⁻¹}`.
    """
    row = setting.features[arm]
    step, most = inner(row, times(view.inverse, row)), count(view, reading, arm, setting)
    return exceed(step, setting.gamma1) if most * step > setting.gamma1 else most


def exceed(step: float, level: float) -> int:
    """The smallest whole n ≥ 1 with `n · step > level`, for a step above 0."""
    n = max(int(level / step), 1)
    while n * step <= level:
        n += 1
    return n


DETERMINANT = Trigger(
    "determinant",
    "when det V has grown by the share gamma1, or the samples by the share gamma2",
    determinant,
    needs_linear=True,
    parameters=(GAMMA1, GAMMA2),
)
