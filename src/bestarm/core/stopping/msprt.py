"""What tools for A/B tests use: a mixture of likelihood ratios for every pair (Johari et al., KDD 2017)."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE
from bestarm.core.rules import Parameter, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals

PRIOR = Parameter("prior", "the effect that is expected, in units of sigma", default=1.0)


def msprt(state: Totals, setting: Setting) -> Reading:
    """Stop when the leader's difference to every other arm has an always valid p-value of at most δ/(K−1).

    With v = 1/T_i + 1/T_j and τ the expected effect over σ, the p-value of a difference D is the smallest so
    far of `√((v + τ²)/v) exp( −D²τ² / (2σ²v(v + τ²)) )`.

    *Proof.* Johari et al. 2017, for normal noise and pulls in turn: then the mixture over effects with the
    density N(0, τ²σ²) is a martingale of the differences, and Ville's inequality bounds it. The test is about
    differences from 0 on both sides; a union over the best arm and the K − 1 others.
    """
    values, pulls = state.estimate.values, state.pulls
    leader, level = int(np.argmax(values)), math.log((setting.counted - 1.0) / setting.delta)
    spread, widths = setting.own[0] * setting.own[0], np.zeros(setting.arms)
    for k in range(setting.arms):
        if k != leader:
            v = 1.0 / float(pulls[leader]) + 1.0 / float(pulls[k])
            widths[k] = math.sqrt(2.0 * v * (v + spread) / spread * (level + 0.5 * math.log(1.0 + spread / v)))
    return read(values, leader, widths, 0.0, setting.sigma, setting.epsilon)


MSPRT = Test(
    "msprt",
    "always valid p-values of all differences, as tools for A/B tests have them",
    SEPARATE,
    msprt,
    parameters=(PRIOR,),
    only_with=("uniform",),
    how="compares each arm with the leader over all batches by an always valid p-value",
)
