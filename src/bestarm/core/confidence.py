"""How sure a tally makes us: one rule for each radius α(i, k) of the gap between two arms.

Each rule takes the pulls, the view and the setting and returns the `Reading` with its radius. All hold at every
upload at once with probability at least 1 − δ when the rewards, in the order of the log, are σ-sub-Gaussian
given those before them (`docs/guarantee.md` has the lemma that makes it so, and its assumptions).
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import View
from bestarm.core.setting import Setting
from bestarm.core.tally import Counts, Floats

LOG_2, SQRT_2, SQRT_PI = math.log(2.0), math.sqrt(2.0), math.sqrt(math.pi)


def famabpe(pulls: Counts, view: View, setting: Setting) -> Reading:
    """FAMABPE's radius, equation (7): α(i,k) = α(i) + α(k).

    `α(k) = σ √( (2/T_k) log( (4K/δ) ((1+γM) N)² ) )`.

    Hoeffding's inequality for each number of pulls T_k = 1, 2, …, two-sided, with a union over T_k and k.
    Departure: the paper applies it one-sided and to a random number of samples; since N ≥ T_k, the union over
    T_k pays for both within the same constant: Σ_k Σ_T 2·δ/(4K T²) ≤ 0.82 δ.
    """
    gamma = setting.gamma_over / setting.gamma_under
    spread = (1.0 + gamma * setting.agents) * view.samples
    scale = setting.sigma * np.sqrt(2.0 * np.log(4.0 * setting.arms / setting.delta * spread * spread))
    leader = int(np.argmax(view.values))
    return read(view.values, leader, view.widths, view.widths[leader], scale, setting.epsilon)


def ugapec(pulls: Counts, view: View, setting: Setting) -> Reading:
    """UGapEc's radius and leader (Gabillon et al. 2012): the arm with the smallest index leads.

    `β_k = σ √( (2/T_k) log(4K t³/δ) )`, `B_k = max_{j≠k} (μ̂_j + β_j) − (μ̂_k − β_k)`, leader = argmin B_k,
    challenger = argmax_{j≠leader} (μ̂_j + β_j); t is the number of pulls so far.
    """
    spread = float(view.samples)
    log_term = np.log(4.0 * setting.arms * spread * spread * spread / setting.delta)
    scale = setting.sigma * np.sqrt(2.0 * log_term)
    values, widths = view.values, view.widths
    first, highest, second_highest = 0, -np.inf, -np.inf  # the two highest upper limits
    for k in range(setting.arms):
        limit = values[k] + scale * widths[k]
        if limit > highest:
            first, highest, second_highest = k, limit, highest
        elif limit > second_highest:
            second_highest = limit
    leader, lowest = 0, np.inf
    for k in range(setting.arms):
        rival = second_highest if k == first else highest
        index = rival - values[k] + scale * widths[k]
        if index < lowest:
            leader, lowest = k, index
    return read(values, leader, widths, widths[leader], scale, setting.epsilon)


def falinpe(pulls: Counts, view: View, setting: Setting) -> Reading:
    """FALinPE's radius, Theorem 2: α(i,k) = ‖x_i − x_k‖_{V⁻¹} C.

    `C = √λ + (√(2γ₁) M + √(1+γ₁M)) σ √( d log( (2/δ)(1 + (1+γ₂M) N / (min(γ₁,1) λ)) ) )`, for features and
    θ of length at most 1. It is larger than the self-normalised bound of Abbasi-Yadkori et al. (2011), which
    by the lemma in `docs/guarantee.md` already covers the server's tally.
    """
    agents, gamma1 = setting.agents, setting.gamma1
    gamma2 = setting.gamma_over / setting.gamma_under
    inside = 1.0 + (1.0 + gamma2 * agents) * view.samples / (min(gamma1, 1.0) * setting.regulariser)
    noise = setting.sigma * np.sqrt(setting.dimension * np.log(2.0 / setting.delta * inside))
    inflation = np.sqrt(2.0 * gamma1) * agents + np.sqrt(1.0 + gamma1 * agents)
    return ridge_reading(view, np.sqrt(setting.regulariser) + inflation * noise, setting)


def lingape(pulls: Counts, view: View, setting: Setting) -> Reading:
    """LinGapE's radius (Xu et al. 2018), with ‖θ‖ ≤ 1: α(i,k) = ‖x_i − x_k‖_{V⁻¹} C.

    `C = σ √( 2 log( K² det(V)^½ / (λ^{d/2} δ) ) ) + √λ`.
    """
    log_term = 2.0 * np.log(setting.arms) + 0.5 * view.log_det - np.log(setting.delta)
    return ridge_reading(view, setting.sigma * np.sqrt(2.0 * log_term) + np.sqrt(setting.regulariser), setting)


def ridge_reading(view: View, scale: float, setting: Setting) -> Reading:
    """The reading with α(i,k) = scale · ‖x_i − x_k‖_{V⁻¹}."""
    leader = int(np.argmax(view.values))
    directions = setting.features - setting.features[leader]
    widths = np.sqrt(row_products(directions @ view.inverse, directions))
    return read(view.values, leader, widths, 0.0, scale, setting.epsilon)


def pairs(pulls: Counts, view: View, setting: Setting) -> Reading:
    """The pair test of `sharp`, for arms without features or with linearly independent ones.

    Leader i stops when, for every other arm j, `inf_m [ g(T_i, μ̂_i − m) + g(T_j, m + ε − μ̂_j) ] ≥ log((K−1)/δ)`
    with `g(T, x) = log 2 + ½ log(ρ/(T+ρ)) + z²/2 + log Φ(z)`, `z = T x / (σ √(T+ρ))`. α(i,j) is the margin at
    which this holds with equality (`pair_radius`).

    *Proof.* For an arm with mean at most m, exp g(T, μ̂ − m) is the mixture of the supermartingales
    exp(s Z/σ² − s² T/(2σ²)), Z = T(μ̂ − m), over s > 0 with the half-normal density of variance σ²/ρ: a
    non-negative supermartingale that starts at 1. The same holds for an arm with mean at least m and m − μ̂,
    and for the product over two arms under adaptive sampling. If the leader i is worse than the best arm j by
    more than ε, both factors are such for m = μ_i, so the infimum over m exceeds (K−1)/δ at any time with
    probability at most δ/(K−1), by Ville's inequality. The union over the K − 1 wrong leaders gives δ. It
    holds for any sampling rule, any batches and any number of agents.
    """
    leader = int(np.argmax(view.values))
    level = float(np.log((setting.arms - 1) / setting.delta))
    own = float(pulls[leader])  # Python computes much faster with its own numbers than with numpy's
    widths = np.zeros(setting.arms)
    for k in range(setting.arms):
        if k != leader:
            widths[k] = pair_radius(own, float(pulls[k]), level, setting.pseudo_count)
    return read(view.values, leader, widths, 0.0, setting.sigma, setting.epsilon)


def pair_radius(first: float, second: float, level: float, rho: float) -> float:
    """The margin D, for σ = 1, at which `inf_x [ g(first, x) + g(second, D − x) ] = level`.

    g is convex and increasing in x, so at the infimum both slopes are equal: with the standardised margins u, v
    of the two arms, `e(u) + e(v) = height` and `a e'(u) = b e'(v)`, e being `one_sided`. Newton's method solves
    this in a few steps; where it fails (one arm with a million times the pulls of the other) the slope is
    bisected.

    >>> round(float(pair_radius(100, 100, np.log(4 / 0.05), 10.0)), 4)
    0.4881
    """
    a, b = first / math.sqrt(first + rho), second / math.sqrt(second + rho)
    height = level + 0.5 * math.log1p(first / rho) + 0.5 * math.log1p(second / rho) - 2.0 * LOG_2
    start = math.sqrt(2.0 * max(height, 0.02) / (1.0 / (a * a) + 1.0 / (b * b)))
    u, v = start / a, start / b
    for _ in range(12):
        high_u, slope_u, bend_u = one_sided(u)
        high_v, slope_v, bend_v = one_sided(v)
        off, tilt = height - high_u - high_v, b * slope_v - a * slope_u
        scale = slope_u * b * bend_v + slope_v * a * bend_u
        if not scale > 0.0:
            break
        step_u = (off * b * bend_v + tilt * slope_v) / scale
        step_v = (off * a * bend_u - tilt * slope_u) / scale
        u, v = u + step_u, v + step_v
        if abs(step_u) + abs(step_v) < 1e-9 * (1.0 + abs(u) + abs(v)):
            return u / a + v / b
    low, high = -40.0, 40.0  # logarithms of the common slope
    for _ in range(100):
        slope = math.exp(0.5 * (low + high))
        u, v = where_slope(slope / a), where_slope(slope / b)
        if one_sided(u)[0] + one_sided(v)[0] < height:
            low = 0.5 * (low + high)
        else:
            high = 0.5 * (low + high)
    return where_slope(math.exp(high) / a) / a + where_slope(math.exp(high) / b) / b


def where_slope(slope: float) -> float:
    """The z at which `one_sided` has a given slope, which rises from 0 like 1/|z| and goes on like z."""
    if slope < 1e-3:
        return 2.0 * slope - 1.0 / slope
    z = slope - 1.0 / slope
    for _ in range(60):
        _, here, bend = one_sided(z)
        step = (slope - here) / bend
        z += step
        if abs(step) < 1e-12 * (1.0 + abs(z)):
            break
    return z


def one_sided(z: float) -> tuple[float, float, float]:
    """`z²/2 + log Φ(z)`, the heart of a one-sided normal mixture, with its first and second derivative."""
    x = -z / SQRT_2
    if x < 4.0:
        below = 0.5 * math.erfc(x)
        value, mills = 0.5 * z * z + math.log(below), math.exp(-0.5 * z * z) / (SQRT_2 * SQRT_PI * below)
    else:  # the continued fraction of exp(x²) erfc(x), which is all but exact here
        tail = x
        for n in range(40, 0, -1):
            tail = x + 0.5 * n / tail
        value, mills = -math.log(2.0 * SQRT_PI * tail), SQRT_2 * tail
    return value, z + mills, 1.0 - mills * (z + mills)


def span(pulls: Counts, view: View, setting: Setting) -> Reading:
    """The span test of `sharp`, for features of lower rank than there are arms.

    In orthonormal coordinates Z of the span, `A = Z' diag(T) Z`, `q(y) = y'A⁻¹y + ρ ‖A⁻¹y‖²`,
    `α(i,k) = σ √( 2 q(z_i − z_k) ( log(1/δ) + ½ log det(I + A/ρ) ) )`.

    *Proof.* Method of mixtures with prior precision ρ/σ² on the span (Abbasi-Yadkori et al. 2011, Theorem 1,
    with V = A + ρI): with probability 1 − δ, at all times, ‖Z'η‖²_{(A+ρI)⁻¹} ≤ 2σ² · threshold; and
    |y'(θ̂ − θ)| = |y'A⁻¹Z'η| ≤ ‖(A+ρI)^½ A⁻¹y‖ ‖Z'η‖_{(A+ρI)⁻¹}, whose first factor is √q(y). One event covers
    all pairs; no bound on ‖θ‖ is needed.
    """
    threshold = np.log(1.0 / setting.delta) + 0.5 * view.log_det
    leader = int(np.argmax(view.values))
    directions = setting.features - setting.features[leader]
    mapped = directions @ view.inverse
    spread = row_products(mapped, directions) + setting.pseudo_count * row_products(mapped, mapped)
    scale = setting.sigma * np.sqrt(2.0 * threshold)
    return read(view.values, leader, np.sqrt(spread), 0.0, scale, setting.epsilon)


def row_products(left: Floats, right: Floats) -> Floats:
    """`Σ_j left_kj right_kj` for every row k, never below zero: squared lengths that rounding can't turn."""
    products: Floats = np.maximum((left * right).sum(axis=1), 0.0)
    return products
