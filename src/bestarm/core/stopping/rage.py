"""RAGE's test (Fiez, Jain, Jamieson and Ratliff, NeurIPS 2019): arms with features drop out phase by phase."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Flags, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, best_left, last_left
from bestarm.core.coordinates import span_coordinates
from bestarm.core.estimate import begin_linear, fitted, fold_span, foresee, weighted_gram
from bestarm.core.fit import inverted
from bestarm.core.race import single
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View


class Phases(NamedTuple):
    """The total, which arms are `left`, how near each is to its end, and how many phases there were.

    It has all that a total has, so that another test may end the phases.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    residual: float
    freedom: float
    left: Flags
    nearest: Floats
    phase: int


def begin(setting: Setting) -> Phases:
    """All arms are left, and no phase was made."""
    total = begin_linear(setting)
    left, nearest = np.ones(setting.arms, np.bool_), np.zeros(setting.arms)
    return Phases(total.pulls, total.sums, total.estimate, 0.0, 0.0, left, nearest, 0)


def fold(state: Phases, batch: Batch, setting: Setting) -> Phases:
    """One more phase. The first pulls of all arms are none: too few to tell anything."""
    phase = state.phase
    if state.estimate.samples > 0:
        phase += 1
        drop(state.left, state.nearest, batch, phase, state.estimate.noise, setting)
    before = Totals(state.pulls, state.sums, state.estimate, state.residual, state.freedom)
    total = fold_span(before, batch, setting)
    return Phases(
        total.pulls,
        total.sums,
        total.estimate,
        total.residual,
        total.freedom,
        state.left,
        state.nearest,
        phase,
    )


def drop(left: Flags, nearest: Floats, batch: Batch, phase: int, sigma: float, setting: Setting) -> None:
    """Leave out, in place, the arms that this phase alone shows to be worse than another one that is left.

    With A and θ̂ of this phase's pulls, arm k goes if `(x_i − x_k)'θ̂ ≥ σ ‖x_i − x_k‖_{A⁻¹} √(2 level)` for some
    i that is left. `nearest` becomes the square of the largest ratio of the two sides.
    """
    pulls, sums = np.zeros(setting.arms, np.int64), np.zeros(setting.arms)
    pulls[batch.arms] = batch.pulls
    sums[batch.arms] = batch.sums
    determined, inverse = inverted(weighted_gram(setting.features, pulls), False)
    if not determined:
        return
    values = fitted(setting.features, inverse, sums)
    scale = 2.0 * phase_level(phase, setting) * sigma * sigma
    lengths = gaps(setting.features, inverse)
    for k in range(setting.arms):
        nearest[k] = 0.0
        for i in range(setting.arms):
            ahead = values[i] - values[k]
            if left[i] and ahead > 0.0 and lengths[i, k] > 0.0:
                nearest[k] = max(nearest[k], ahead * ahead / (scale * lengths[i, k]))
    # The one of those left that is ahead in this phase has no other before it: one arm always stays.
    left &= nearest < 1.0


def gaps(features: Floats, inverse: Floats) -> Floats:
    """`‖x_i − x_k‖²` in the norm of the inverse, for all pairs."""
    arms, rank = features.shape
    toward = np.zeros((arms, rank))
    for k in range(arms):
        for row in range(rank):
            for column in range(rank):
                toward[k, row] += inverse[row, column] * features[k, column]
    lengths = np.zeros((arms, arms))
    for i in range(arms):
        for k in range(i):
            total = 0.0
            for row in range(rank):
                total += (features[i, row] - features[k, row]) * (toward[i, row] - toward[k, row])
            lengths[i, k] = lengths[k, i] = total
    return lengths


def phase_level(phase: int, setting: Setting) -> float:
    """`log(2K²t²/δ)`, what phase t pays for all pairs and all phases."""
    return math.log(2.0 / setting.delta) + 2.0 * math.log(setting.counted * phase)


def rage(state: Phases, setting: Setting) -> Reading:
    """Settled when one arm is left.

    *Proof.* The pulls of a phase are chosen before its first reward is seen, so y'θ̂ of the phase is normal (or
    sub-Gaussian) around y'θ with scale σ‖y‖_{A⁻¹}, given everything before. The best arm goes in phase t only
    if for some of the K − 1 others y'θ̂ − y'θ is at least σ‖y‖√(2 log(2K²t²/δ)): with probability at most
    (K − 1) δ/(2K²t²), and summed over the phases at most 0.83 δ/K. ε is not used.
    """
    return last_left(best_left(state.estimate.values, state.left), state.left, state.nearest)


def absorb(state: Phases, arm: int, reward: float, setting: Setting) -> Phases:
    """A single pull is a phase of one arm, which tells nothing about the others."""
    return fold(state, single(arm, reward), setting)


PHASES = Model(begin, fold, foresee, absorb, span_coordinates, linear=True)
RAGE = Test(
    "rage",
    "RAGE's: one arm is left, each of the others was behind in the pulls of one phase",
    PHASES,
    rage,
    shows_index=False,
    by_phase=True,
    growth=None,
    only_with=("rage",),
    how="compares arms through their features, in the pulls of one phase at a time",
)
