"""What a tally says about the arms' means, without yet saying how sure that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.setting import Setting
from bestarm.core.tally import Counts, Floats


class View(NamedTuple):
    """Estimates from one tally: `values` per arm, and for a linear model the inverse of its matrix.

    `widths` is 1/√T_k for separate arms, and empty for a linear model. `log_det` is what the confidence rule of
    the estimate needs of the determinant: log det(V)/det(λI) for ridge, log det(A + ρI)/det(ρI) for span, 0 for
    separate arms.
    """

    samples: int
    values: Floats
    widths: Floats
    inverse: Floats
    log_det: float


def separate(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Each arm by itself: `values = reward_sums / pulls`."""
    return View(pulls.sum(), reward_sums / pulls, 1.0 / np.sqrt(pulls), setting.features[:0], 0.0)


def ridge(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Regularised least squares: `V = λI + X' diag(pulls) X`, `θ̂ = V⁻¹ X' reward_sums`, `values = Xθ̂`."""
    features = setting.features
    matrix = weighted_gram(features, pulls) + setting.regulariser * np.eye(features.shape[1])
    inverse = np.ascontiguousarray(np.linalg.inv(matrix))
    log_det = np.linalg.slogdet(matrix)[1] - features.shape[1] * np.log(setting.regulariser)
    return View(pulls.sum(), fitted(features, inverse, reward_sums), np.empty(0), inverse, log_det)


def span(pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """Plain least squares in orthonormal coordinates Z of the span: `A = Z' diag(pulls) Z`, `θ̂ = A⁻¹ Z'S`.

    Every arm must have been pulled, so that A can be inverted.
    """
    features = setting.features
    matrix = weighted_gram(features, pulls)
    inverse = np.ascontiguousarray(np.linalg.inv(matrix))
    identity = np.eye(features.shape[1])
    log_det = np.linalg.slogdet(identity + matrix / setting.pseudo_count)[1]
    return View(pulls.sum(), fitted(features, inverse, reward_sums), np.empty(0), inverse, log_det)


def weighted_gram(features: Floats, weights: Counts) -> Floats:
    """`Σ_k weights_k x_k x_k'`, from whole numbers, so that it never drifts."""
    weighted = features * weights.astype(np.float64).reshape(-1, 1)
    return np.ascontiguousarray(features.T) @ weighted


def fitted(features: Floats, inverse: Floats, reward_sums: Floats) -> Floats:
    """`X V⁻¹ X' S`, the estimated value of every arm."""
    return features @ (inverse @ (reward_sums @ features))


def foresee_nothing(view: View, arm: int, weight: float, setting: Setting) -> View:
    """Separate arms: pulls that are only planned change no estimate."""
    return view


def foresee(view: View, arm: int, weight: float, setting: Setting) -> View:
    """The view after `weight` more pulls of an arm whose rewards are not known yet (Sherman–Morrison)."""
    row = setting.features[arm]
    toward = view.inverse @ row
    shrunk = view.inverse - np.outer(toward, toward) * (weight / (1.0 + weight * np.dot(row, toward)))
    return View(view.samples, view.values, view.widths, shrunk, view.log_det)


def absorb_mean(view: View, arm: int, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The separate view after one more pull of an arm; pulls and sums contain it already.

    Values and widths change in place: the caller owns the view, and asks for this once a pull.
    """
    view.values[arm] = reward_sums[arm] / pulls[arm]
    view.widths[arm] = 1.0 / np.sqrt(pulls[arm])
    return View(view.samples + 1, view.values, view.widths, view.inverse, view.log_det)


def absorb_row(view: View, arm: int, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The ridge view after one more pull of an arm, by a rank-one update; pulls and sums contain it already."""
    row = setting.features[arm]
    toward = view.inverse @ row
    gain = 1.0 + np.dot(row, toward)
    inverse = view.inverse - np.outer(toward, toward) / gain
    values = fitted(setting.features, inverse, reward_sums)
    return View(view.samples + 1, values, view.widths, inverse, view.log_det + np.log(gain))


def absorb_span(view: View, arm: int, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The span view after one more pull of an arm, made anew: its `log_det` is not that of its matrix."""
    return span(pulls, reward_sums, setting)


def renew_means(view: View, arms: Counts, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The separate view after an upload of some arms; pulls and sums contain it already.

    The same numbers as `separate`, but only those that changed, in place: the caller owns the view.
    """
    for arm in arms:
        view.values[arm] = reward_sums[arm] / pulls[arm]
        view.widths[arm] = 1.0 / np.sqrt(pulls[arm])
    return View(pulls.sum(), view.values, view.widths, view.inverse, view.log_det)


def renew_ridge(view: View, arms: Counts, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The ridge view after an upload, made anew from the whole numbers, so that it never drifts."""
    return ridge(pulls, reward_sums, setting)


def renew_span(view: View, arms: Counts, pulls: Counts, reward_sums: Floats, setting: Setting) -> View:
    """The span view after an upload, made anew from the whole numbers, so that it never drifts."""
    return span(pulls, reward_sums, setting)
