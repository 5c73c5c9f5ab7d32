"""How many samples any method needs: the lower bound kl(δ, 1−δ)·T* on the expected number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import UserError
from bestarm.problem import Problem

Floats = NDArray[np.float64]

ACCURACY = 1e-5


def lower_bound(problem: Problem, noise: float | None = None) -> float:
    """No method with this δ and ε uses fewer samples than this on average, whatever it communicates.

    `kl(δ, 1−δ) · T*` (Garivier & Kaufmann 2016, with ε added to each gap), kl(δ, 1−δ) = (1−2δ) log((1−δ)/δ).
    For rewards that are Gaussian with variance σ² (the problem's sigma, or `noise`), and when the best arm is
    the only one within ε; if there are several such arms, any of them may be returned, and this is the rate as
    δ → 0 (Degenne & Koolen 2019).
    Infinite if the best arm is not unique and ε = 0; 0 if δ ≥ 1/2.

    >>> round(lower_bound(Problem.quick([0.9, 0.8, 0.8, 0.8, 0.8], sigma=0.3)))
    429
    """
    if problem.means is None:
        raise UserError(f"problem {problem.name!r} has no means; the lower bound needs them.")
    sigma = problem.sigma if noise is None else noise
    if sigma is None:
        raise UserError(f"problem {problem.name!r} has no sigma; the lower bound needs it.")
    if problem.delta >= 0.5:
        return 0.0
    divergence = (1.0 - 2.0 * problem.delta) * math.log((1.0 - problem.delta) / problem.delta)
    means, features = problem.merits(problem.means), problem.features
    if features is None or np.linalg.matrix_rank(features) == len(problem.arms):
        return divergence * characteristic_time(means, sigma, problem.epsilon)
    return divergence * linear_characteristic_time(means, features, sigma, problem.epsilon)


def characteristic_time(means: Floats, sigma: float, epsilon: float = 0.0) -> float:
    """T* of separate arms: samples for each unit of evidence when they are split in the best possible way.

    With `c_j = (Δ_j+ε)²/(2σ²)` over the arms but the best, y solves `Σ_j (y/(c_j−y))² = 1`, and
    `T* = (1 + Σ_j y/(c_j−y)) / y` (Garivier & Kaufmann 2016, theorem 5, for Gaussian rewards). For equal gaps
    `2σ² (1+√(K−1))² / (Δ+ε)²`.

    >>> round(characteristic_time(np.array([1.0, 0.0, 0.0]), sigma=1.0), 3)  # 2 (1+√2)²
    11.657
    """
    _, distances = distances_to_best(means, epsilon)
    if distances.min() == 0.0:
        return math.inf
    # In units of the smallest c: then y lies in (0, 1/2], since no term of the sum exceeds 1.
    costs = (distances / distances.min()) ** 2
    y = crossing(lambda y: float(np.sum((y / (costs - y)) ** 2)) - 1.0, 0.0, 0.5)
    return float((1.0 + np.sum(y / (costs - y))) / y * 2.0 * (sigma / distances.min()) ** 2)


def linear_characteristic_time(means: Floats, features: Floats, sigma: float, epsilon: float = 0.0) -> float:
    """T* when the rewards are linear in the features, so that every arm tells about the others.

    `T* = 2σ² min_w max_j ‖x_best − x_j‖²_{V(w)⁻¹} / (Δ_j+ε)²` over the simplex, `V(w) = Σ_k w_k x_k x_k'`
    (Soare et al. 2014; Degenne et al. 2020). Equal to `characteristic_time` for linearly independent features.

    The value returned is certified: below T* by at most one part in 100,000 (`optimal_design`).
    """
    best, distances = distances_to_best(means, epsilon)
    if distances.min() == 0.0:
        return math.inf
    # T* does not change under a change of basis, so take orthonormal coordinates of the span.
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    points = left[:, singular > singular[0] * max(features.shape) * np.finfo(float).eps]
    differences = points[best] - np.delete(points, best, axis=0)
    value, _ = optimal_design(points, differences * (distances.min() / distances)[:, None])
    return 2.0 * (sigma / float(distances.min())) ** 2 * value


def distances_to_best(means: Floats, epsilon: float) -> tuple[int, Floats]:
    """The best arm (the first on ties), and Δ_j + ε of all others."""
    best = int(np.argmax(means))
    return best, means[best] - np.delete(means, best) + epsilon


def crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is at most 0 at `low` and above 0 from some point on crosses 0, by bisection."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return low
        low, high = (middle, high) if excess(middle) <= 0.0 else (low, middle)


def optimal_design(points: Floats, directions: Floats) -> tuple[float, Floats]:
    """The split of samples over the points that learns the worst of the directions best, and how well.

    Returns `min_w max_j z_j' V(w)⁻¹ z_j` over the simplex, from below, and a w that is within `ACCURACY` of it.
    The value is homogeneous in w, so this is `min Σw subject to z_j' V(w)⁻¹ z_j ≤ 1`: a convex programme,
    solved by Newton's method on `s Σw − Σ_j log(1 − z_j' V(w)⁻¹ z_j) − Σ_k log w_k` for growing s.

    The certificate holds for every w, wherever it comes from. With weights q_j ≥ 0 of sum 1 on the directions,
    A = Σ_j q_j z_j z_j' and `h_k = x_k' V⁻¹ A V⁻¹ x_k`, the Cauchy–Schwarz inequality gives
    `min_w max_j z_j' V(w)⁻¹ z_j ≥ (Σ_j q_j z_j' V⁻¹ z_j)² / max_k h_k`. The barrier supplies q.
    """

    def evaluate(w: Floats) -> tuple[Floats, Floats, Floats]:
        """z_j' V⁻¹ z_j, √w_k x_k' V⁻¹ z_j and √(w_k w_l) x_k' V⁻¹ x_l, by QR, since V may be near singular."""
        q, r = np.linalg.qr(np.sqrt(w)[:, None] * points)
        solved = np.linalg.solve(r.T, directions.T)
        return np.sum(solved**2, axis=0), q @ solved, q @ q.T

    def barrier(w: Floats, f: Floats, s: float) -> float:
        return s * float(w.sum()) - float(np.log1p(-f).sum()) - float(np.log(w).sum())

    w = np.ones(len(points))
    worst = float(evaluate(w)[0].max())
    if worst == 0.0:
        return 0.0, w / w.sum()
    directions = directions / math.sqrt(2.0 * worst)  # now w = 1 is strictly feasible
    f, across, gram = evaluate(w)
    s, lower, upper, design = 1.0, 0.0, math.inf, w
    for _ in range(500):
        u = 1.0 / (1.0 - f)
        lower = max(lower, float(u @ f) ** 2 / float((across**2 @ u / w).max() * u.sum()))
        if float(w.sum() * f.max()) < upper:
            upper, design = float(w.sum() * f.max()), w / w.sum()
        if upper <= (1.0 + ACCURACY) * lower:
            return lower * 2.0 * worst, design
        squares = across**2
        gradient = w * s - squares @ u - 1.0
        # The Hessian in the coordinates w_k (1 + step_k), so that small weights do no harm.
        hessian = 2.0 * ((across * u) @ across.T) * gram + (squares * u**2) @ squares.T
        step = np.linalg.solve(hessian + np.eye(len(w)), -gradient)
        slope, start = float(gradient @ step), barrier(w, f, s)
        if slope > -1e-10:
            s *= 10.0
            continue
        length = min(1.0, 0.95 / max(float(-step.min()), 0.95))
        while True:
            trial = w * (1.0 + length * step)
            f, across, gram = evaluate(trial)
            if f.max() < 1.0 and barrier(trial, f, s) <= start + 0.1 * length * slope + 1e-14 * abs(start):
                break
            length *= 0.5
        w = trial
    raise ArithmeticError("the optimal design did not converge; please report the problem it was computed for")
