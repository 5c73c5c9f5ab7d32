"""Arms with features, compared inside batches: what is kept of the batches, and least squares from it.

In a batch with counts n, sums S and features Z of its arms, what is common to the batch cancels in the score
`r_b = Z'(S − n S̄)`. Its mean is A_b θ and its covariance σ²A_b, `A_b = Z'(diag(n) − nn'/|n|)Z`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.algebra import extremes, gram, inverse_of, log_det, rows_added, times
from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.scatter import KNOWN_WELL, scatter, steering_noise
from bestarm.core.setting import Setting
from bestarm.core.state import View

DETERMINED = 1e-9  # the smallest eigenvalue of the information over the largest, from which it has an inverse


class Fit(NamedTuple):
    """The information `Ã = Σ A_b` and the score `r̃ = Σ r_b`, and what follows from them.

    `estimate.values` are the fitted means on the scale of the average batch, and `estimate.inverse` is Ã⁻¹ once
    the batches have `determined` every difference of features. `accounts`, `leaders` and `opened` are those of
    `core.directions`; a test without accounts has none. The others are as in `core.race.Race`.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    information: Floats
    score: Floats
    determined: bool
    accounts: Floats
    leaders: Counts
    opened: int
    residual: float
    freedom: float
    odds: Floats
    missing: Floats
    reading: Reading


def begin_with(rows: int, width: int, setting: Setting) -> Fit:
    """No pulls, and so many rows of accounts, all 0: every arm may be the best."""
    arms, rank = setting.features.shape
    nothing = np.zeros((rank, rank))
    return Fit(
        np.zeros(arms, np.int64),
        np.zeros(arms),
        View(0, np.zeros(arms), np.empty(0), nothing, 0.0, setting.sigma, 1.0),
        nothing.copy(),
        np.zeros(rank),
        False,
        np.zeros((rows, width, arms)),
        np.full(rows, -1, np.int64),
        min(rows, 1),
        0.0,
        0.0,
        np.zeros(arms),
        np.ones(arms),
        Reading(0, 1, np.inf, 0.0),
    )


def contrasts(batch: Batch, features: Floats) -> tuple[Floats, Floats]:
    """A_b and r_b.

    Features count from those of the batch's first arm: a batch of one arm tells nothing, to the last bit.
    """
    weights = batch.pulls.astype(np.float64)
    rows = features[batch.arms] - features[batch.arms[0]]
    rows = rows - rows_added(weights, rows) / weights.sum()
    off = batch.sums - weights * (batch.sums.sum() / weights.sum())
    return gram(rows, weights), rows_added(off, rows)


def learn(state: Fit, batch: Batch, information: Floats, score: Floats, rho: float, setting: Setting) -> Fit:
    """The state with the batch in its estimates; its arrays are changed in place. `rho` is that of `log_det`.

    The noise is measured as in `core.scatter`, with the fitted means, which are known well for all arms of a
    batch once there were enough pulls before it.
    """
    residual, freedom, brought = state.residual, state.freedom, int(batch.pulls.sum())
    if batch.squares.shape[0] > 0:
        known = state.determined and state.estimate.samples >= KNOWN_WELL * brought
        well = np.full(batch.arms.shape[0], known)
        more, free = scatter(state.estimate.values, well, batch, setting.centre)
        residual, freedom = residual + more, freedom + free
    state.pulls[batch.arms] += batch.pulls
    state.sums[batch.arms] += batch.sums
    state.information[:] += information
    state.score[:] += score
    samples = state.estimate.samples + brought
    determined, inverse = inverted(state.information, state.determined)
    values = times(setting.features, times(inverse, state.score))
    values += (state.sums.sum() - (state.pulls * values).sum()) / samples
    grown = log_det(np.eye(inverse.shape[0]) + state.information / rho)
    noise = steering_noise(residual, freedom, values, setting.sigma)
    return Fit(
        state.pulls,
        state.sums,
        View(samples, values, state.estimate.widths, inverse, grown, noise, 1.0),
        state.information,
        state.score,
        determined,
        state.accounts,
        state.leaders,
        state.opened,
        residual,
        freedom,
        state.odds,
        state.missing,
        state.reading,
    )


def inverted(information: Floats, determined: bool) -> tuple[bool, Floats]:
    """Whether the information has an inverse, and that; if it has none, one that steers the first batches."""
    if not determined:
        shortest, longest = extremes(information)
        determined = shortest > DETERMINED * longest
        if not determined:
            information = information + max(longest, 1.0) * DETERMINED * np.eye(information.shape[0])
    return determined, inverse_of(information)
