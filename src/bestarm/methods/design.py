"""Which arms tell two arms apart: the linear programme behind FALinPE's arm selection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import UserError

# Weights this much smaller than the largest are the solver's rounding, not arms worth pulling.
NEGLIGIBLE = 1e-9


def minimal_weights(features: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cheapest way to write a direction as a combination of the arms' features.

    `w* = argmin Σ_k |w_k|  subject to  Σ_k w_k x_k = y`, the paper's (programming); pulling arm k in proportion
    to `p*_k = |w*_k| / Σ|w*|` learns y'θ fastest, and `ρ(y) = (Σ|w*|)²`. Opposite directions get opposite
    weights, also where the optimum is not unique. Solved by scipy's HiGHS as w = u − v with u, v ≥ 0.

    Departure: the paper lets w range over R^d; there is one weight for each arm, so it is R^K.

    Parameters
    ----------
    features: K×d, one row an arm.
    direction: d numbers, usually x_i − x_j; it must lie in the span of the features.

    >>> minimal_weights(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), np.array([1.0, -1.0])).tolist()
    [0.0, -1.0, 0.5]
    """
    try:
        from scipy.optimize import linprog
    except ImportError:
        message = (
            'the linear programme needs scipy, which is not installed; run: pip install "bestarm[simulate]"'
        )
        raise UserError(message) from None
    arms = len(features)
    scale = float(np.abs(direction).max(initial=0.0))
    if scale == 0.0:
        return np.zeros(arms)
    scale *= float(np.sign(direction[np.flatnonzero(direction)[0]]))
    # Orthonormal coordinates of the span: no redundant equations, and one tolerance fits all units.
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    rank = int(np.sum(singular > singular[0] * max(features.shape) * np.finfo(float).eps))
    target = right[:rank] @ direction / scale
    outside = float(np.linalg.norm(direction / scale - right[:rank].T @ target))
    points = left[:, :rank] * (singular[:rank] / singular[0])
    result = linprog(np.ones(2 * arms), A_eq=np.hstack([points.T, -points.T]), b_eq=target)
    if outside > 1e-8 or result.status != 0:
        reason = "it is outside their span" if outside > 1e-8 else f"the solver says: {result.message}"
        raise UserError(f"the direction can't be written as a combination of the arms' features: {reason}.")
    weights: NDArray[np.float64] = result.x[:arms] - result.x[arms:]
    # To twelve digits of the largest: weights that are equal stay equal, and ties between arms stay ties.
    largest = np.abs(weights).max()
    weights = np.round(weights / largest, 12) * (largest * scale / singular[0])
    weights[np.abs(weights) < NEGLIGIBLE * np.abs(weights).max()] = 0.0
    return weights
