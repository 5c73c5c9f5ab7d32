"""RAGE's sampling (Fiez, Jain, Jamieson and Ratliff, NeurIPS 2019): phases that halve the gap they can see."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import times
from bestarm.core.arrays import Counts, Flags, Floats, Random
from bestarm.core.breaking import Reading
from bestarm.core.estimate import weighted_gram
from bestarm.core.fit import inverted
from bestarm.core.making import by_turns, one_arm
from bestarm.core.rules import Selection
from bestarm.core.setting import Setting
from bestarm.core.stopping.rage import PHASES, Phases, gaps, phase_level

STEPS = 5000  # at most, in the search for a design
STILL = 0.01  # the change of a design, over its length, at which it is good enough
NOTHING = 1e-5  # the least share of an arm
ROUNDED = 0.1  # what rounding may cost, of the pulls of a phase
WHOLE = 10**9  # shares as whole numbers


def rage(
    state: Phases, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    """All pulls of the next phase: those that tell the arms that are left apart, down to gaps of 2^(1−t).

    `n = ⌈8 (2^(t−1))² σ² ρ (1 + 1/10) log(2K²t²/δ)⌉`, ρ the largest ‖x_i − x_k‖² of two arms that are left in
    the best design, and at least 20 pulls for each arm of the design. These are the numbers of the authors'
    own program. Where another test is not settled yet and one arm is left, all are taken apart again.
    """
    left = state.left
    if left.sum() == 1:
        left = np.ones(setting.arms, np.bool_)
    shares, worst = best_design(setting.features, left)
    support = 0
    for k in range(setting.arms):
        if shares[k] > 0.0:
            arms[support] = k
            support += 1
    phase = state.phase + 1
    noise = state.estimate.noise
    sight = 8.0 * 4.0 ** (phase - 1) * noise * noise * (1.0 + ROUNDED)
    wanted = math.ceil(sight * worst * phase_level(phase, setting))
    share_out(shares, arms[:support], max(wanted, int(2 * support / ROUNDED)), counts)
    return support


def best_design(features: Floats, left: Flags) -> tuple[Floats, float]:
    """The shares of the pulls that make the largest `‖x_i − x_k‖²` of two arms that are left small, and that.

    Frank and Wolfe's method: a step goes to the arm that lowers it fastest, by 2/(n + 2) in the n-th step.

    >>> shares, worst = best_design(np.eye(3)[:2, :2], np.array([True, True]))
    >>> shares.round(2).tolist(), round(float(worst), 1)
    ([0.5, 0.5], 4.0)
    """
    arms = features.shape[0]
    shares, worst, step = np.full(arms, 1.0 / arms), 0.0, 0
    while True:
        # Shares as whole numbers: the matrix is the one that is made of pulls.
        matrix = weighted_gram(features, (shares * WHOLE).astype(np.int64)) / WHOLE
        inverse = inverted(matrix, False)[1]
        lengths = gaps(features, inverse)
        first, second, worst = 0, 0, -1.0
        for i in range(arms):
            for k in range(i):
                if left[i] and left[k] and lengths[i, k] > worst:
                    first, second, worst = i, k, lengths[i, k]
        step += 1
        toward = times(inverse, features[first] - features[second])
        best = int(np.argmax(times(features, toward) ** 2))
        share = 2.0 / (step + 2.0)
        moved = share * math.sqrt((shares * shares).sum() - 2.0 * shares[best] + 1.0)
        if step == STEPS or moved < STILL * math.sqrt((shares * shares).sum()):
            break
        shares *= 1.0 - share
        shares[best] += share
    shares[shares < NOTHING] = 0.0
    return shares / shares.sum(), worst


def share_out(shares: Floats, support: Counts, pulls: int, counts: Counts) -> None:
    """Whole numbers in these shares that are `pulls` together (Pukelsheim's efficient rounding)."""
    total = 0
    for place, arm in enumerate(support):
        counts[place] = math.ceil((pulls - 0.5 * support.shape[0]) * shares[arm])
        total += counts[place]
    while total != pulls:
        chosen, lowest = 0, np.inf
        step = 1 if total < pulls else -1
        for place, arm in enumerate(support):
            # Who is given one has the fewest for its share; who gives one back has the most.
            behind = counts[place] / shares[arm] if step > 0 else (1 - counts[place]) / shares[arm]
            if behind < lowest:
                chosen, lowest = place, behind
        counts[chosen] += step
        total += step


RAGE = Selection(
    "rage",
    "the pulls of a phase that tell the arms that are left apart best",
    by_turns,
    one_arm,
    needs_features=True,
    needs_linear=True,
    keeps=PHASES,
    reads=("rage", "span"),
    turn=rage,
)
