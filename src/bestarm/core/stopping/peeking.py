"""What people do who look at a p-value every day: no promise, and a test in the suites shows it."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals


def peeking(state: Totals, setting: Setting) -> Reading:
    """Stop when the leader differs from every other arm at the level δ/(K−1) of a two-sided z-test.

    The radius of a difference is `z σ √(1/T_i + 1/T_j)`, z the quantile 1 − δ/(2(K−1)) of the normal
    distribution. It would be right for one look that was planned beforehand. Whoever looks after every pull is
    wrong far more often: with time any pair of equal arms differs "significantly".
    """
    values, widths = state.estimate.values, state.estimate.widths
    leader = int(np.argmax(values))
    both = np.sqrt(widths[leader] ** 2 + widths**2)
    scale = setting.sigma * normal_quantile(0.5 * setting.delta / (setting.counted - 1.0))
    return read(values, leader, both, 0.0, scale, setting.epsilon)


def normal_quantile(tail: float) -> float:
    """z with P(Z > z) = tail, to a few ten-thousandths (Abramowitz and Stegun, 26.2.23).

    >>> round(normal_quantile(0.025), 3)
    1.96
    """
    t = math.sqrt(-2.0 * math.log(tail))
    above, below = 2.515517 + 0.802853 * t + 0.010328 * t * t, 1.0 + 1.432788 * t + 0.189269 * t * t
    return float(t - above / (below + 0.001308 * t**3))


PEEKING = Test(
    "peeking",
    "a p-value that is looked at after every pull; no promise",
    SEPARATE,
    peeking,
    proven=False,
    how="compares each arm with the leader over all batches by a p-value for a single look",
)
