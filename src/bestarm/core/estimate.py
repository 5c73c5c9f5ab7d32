"""What a tally says about the arms' means, without yet saying how sure that is: three models of the means.

A model begins with nothing, folds one batch after the other into the total, and keeps the estimates beside it.
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import gram, inner, inverse_and_log_det, inverse_of, log_det, outer, rows_added, times
from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.coordinates import none_at_all, row_coordinates, span_coordinates
from bestarm.core.rules import Model
from bestarm.core.scatter import KNOWN_WELL, scatter_alike, steering_noise
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View

RENEWED = 1024  # pulls after which the ridge estimates are made anew


def add(state: Totals, batch: Batch) -> int:
    """Add a batch to the total, in place; the number of pulls that it brings."""
    samples = 0
    for place in range(batch.arms.shape[0]):
        arm, count = batch.arms[place], batch.pulls[place]
        state.pulls[arm] += count
        state.sums[arm] += batch.sums[place]
        samples += count
    return samples


def begin_separate(setting: Setting) -> Totals:
    """No pulls: no arm has a value yet."""
    arms = setting.arms
    view = View(0, np.full(arms, -np.inf), np.full(arms, np.inf), setting.features[:0], 0.0, setting.sigma, 1.0)
    return Totals(np.zeros(arms, np.int64), np.zeros(arms), view, 0.0, 0.0)


def fold_separate(state: Totals, batch: Batch, setting: Setting) -> Totals:
    """Each arm by itself: `values = sums / pulls`, renewed for the arms of the batch."""
    pulls, sums, view = state.pulls, state.sums, state.estimate
    residual, freedom, noise = state.residual, state.freedom, setting.sigma
    if batch.squares.shape[0] > 0:
        well = pulls[batch.arms] >= KNOWN_WELL * batch.pulls
        more, free = scatter_alike(view.values, well, batch, setting.centre)
        residual, freedom = residual + more, freedom + free
    samples = view.samples + add(state, batch)
    for arm in batch.arms:
        view.values[arm] = sums[arm] / pulls[arm]
        view.widths[arm] = 1.0 / math.sqrt(pulls[arm])
    if batch.squares.shape[0] > 0:
        noise = steering_noise(residual, freedom, view.values, setting.sigma)
    return Totals(
        pulls,
        sums,
        View(samples, view.values, view.widths, view.inverse, view.log_det, noise, view.grain),
        residual,
        freedom,
    )


def begin_linear(setting: Setting) -> Totals:
    """No pulls, and nothing known about any direction."""
    arms = setting.arms
    pulls, sums = np.zeros(arms, np.int64), np.zeros(arms)
    return Totals(pulls, sums, plain(pulls, sums, setting), 0.0, 0.0)


def fold_ridge(state: Totals, batch: Batch, setting: Setting) -> Totals:
    """Add a batch, and make the ridge view anew from the whole numbers, so that it never drifts."""
    add(state, batch)
    pulls, sums = state.pulls, state.sums
    view = plain(pulls, sums, setting) if pulls.min() == 0 else ridge(pulls, sums, setting)
    return Totals(pulls, sums, view, 0.0, 0.0)


def fold_span(state: Totals, batch: Batch, setting: Setting) -> Totals:
    """Add a batch, and make the span view anew from the whole numbers, so that it never drifts."""
    pulls, sums, residual, freedom = state.pulls, state.sums, state.residual, state.freedom
    if batch.squares.shape[0] > 0:
        known = pulls.min() > 0 and state.estimate.samples >= KNOWN_WELL * batch.pulls.sum()
        well = np.full(batch.arms.shape[0], known)
        more, free = scatter_alike(state.estimate.values, well, batch, setting.centre)
        residual, freedom = residual + more, freedom + free
    add(state, batch)
    view = plain(pulls, sums, setting) if pulls.min() == 0 else span(pulls, sums, setting)
    noise = steering_noise(residual, freedom, view.values, setting.sigma)
    seen = View(view.samples, view.values, view.widths, view.inverse, view.log_det, noise, view.grain)
    return Totals(pulls, sums, seen, residual, freedom)


def plain(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Until every arm was pulled: the mean of each arm that was."""
    values = np.full(pulls.shape[0], -np.inf)
    for arm in range(pulls.shape[0]):
        if pulls[arm] > 0:
            values[arm] = reward_sums[arm] / pulls[arm]
    dimension = setting.features.shape[1]
    return View(pulls.sum(), values, np.empty(0), np.zeros((dimension, dimension)), 0.0, setting.sigma, 1.0)


def ridge(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Regularised least squares: `V = λI + X' diag(pulls) X`, `θ̂ = V⁻¹ X' reward_sums`, `values = Xθ̂`."""
    features = setting.features
    matrix = weighted_gram(features, pulls) + setting.regulariser * np.eye(features.shape[1])
    inverse, grown = inverse_and_log_det(matrix)
    grown -= features.shape[1] * math.log(setting.regulariser)
    return View(
        pulls.sum(), fitted(features, inverse, reward_sums), np.empty(0), inverse, grown, setting.sigma, 1.0
    )


def span(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Plain least squares in orthonormal coordinates Z of the span: `A = Z' diag(pulls) Z`, `θ̂ = A⁻¹ Z'S`.

    Every arm must have been pulled, so that A can be inverted.
    """
    features = setting.features
    matrix = weighted_gram(features, pulls)
    inverse = inverse_of(matrix)
    grown = log_det(np.eye(features.shape[1]) + matrix / setting.pseudo_count)
    return View(
        pulls.sum(), fitted(features, inverse, reward_sums), np.empty(0), inverse, grown, setting.sigma, 1.0
    )


def weighted_gram(features: Floats, weights: Counts) -> Floats:
    """`Σ_k weights_k x_k x_k'`, from whole numbers, so that it never drifts."""
    return gram(features, weights.astype(np.float64))


def fitted(features: Floats, inverse: Floats, reward_sums: Floats) -> Floats:
    """`X V⁻¹ X' S`, the estimated value of every arm."""
    return times(features, times(inverse, rows_added(reward_sums, features)))


def foresee_nothing(view: View, arm: int, weight: float, setting: Setting) -> View:
    """Separate arms: pulls that are only planned change no estimate."""
    return view


def foresee(view: View, arm: int, weight: float, setting: Setting) -> View:
    """The view after `weight` more pulls of an arm whose rewards are not known yet (Sherman–Morrison)."""
    row = setting.features[arm]
    toward = times(view.inverse, row)
    shrunk = view.inverse - outer(toward, toward) * (weight / (1.0 + weight * inner(row, toward)))
    return View(view.samples, view.values, view.widths, shrunk, view.log_det, view.noise, view.grain)


def absorb_mean(state: Totals, arm: int, reward: float, setting: Setting) -> Totals:
    """The total with one more pull of an arm, and its mean."""
    pulls, sums, view = state.pulls, state.sums, state.estimate
    pulls[arm] += 1
    sums[arm] += reward
    view.values[arm] = sums[arm] / pulls[arm]
    view.widths[arm] = 1.0 / np.sqrt(pulls[arm])
    return Totals(
        pulls,
        sums,
        View(view.samples + 1, view.values, view.widths, view.inverse, view.log_det, view.noise, view.grain),
        state.residual,
        state.freedom,
    )


def absorb_row(state: Totals, arm: int, reward: float, setting: Setting) -> Totals:
    """The total with one more pull of an arm, and the ridge estimates by a rank-one update.

    Now and then they are made anew from the whole numbers, so that they can't drift.
    """
    pulls, sums, view, row = state.pulls, state.sums, state.estimate, setting.features[arm]
    pulls[arm] += 1
    sums[arm] += reward
    if (view.samples + 1) % RENEWED == 0:
        return Totals(pulls, sums, ridge(pulls, sums, setting), 0.0, 0.0)
    toward = times(view.inverse, row)
    gain = 1.0 + inner(row, toward)
    inverse = view.inverse - outer(toward, toward) / gain
    values = view.values + times(setting.features, toward) * ((reward - view.values[arm]) / gain)
    return Totals(
        pulls,
        sums,
        View(
            view.samples + 1,
            values,
            view.widths,
            inverse,
            view.log_det + math.log(gain),
            view.noise,
            view.grain,
        ),
        0.0,
        0.0,
    )


def absorb_span(state: Totals, arm: int, reward: float, setting: Setting) -> Totals:
    """The total with one more pull of an arm, and the span estimates made anew."""
    pulls, sums = state.pulls, state.sums
    pulls[arm] += 1
    sums[arm] += reward
    return Totals(pulls, sums, span(pulls, sums, setting), state.residual, state.freedom)


SEPARATE = Model(begin_separate, fold_separate, foresee_nothing, absorb_mean, none_at_all, linear=False)
RIDGE = Model(begin_linear, fold_ridge, foresee, absorb_row, row_coordinates, linear=True)
SPAN = Model(begin_linear, fold_span, foresee, absorb_span, span_coordinates, linear=True)
