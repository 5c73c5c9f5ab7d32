"""The pair test of `sharp`, for arms without features or with linearly independent ones."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.elementwise import log1p
from bestarm.core.estimate import SEPARATE
from bestarm.core.mixture import LOG_2, one_sided
from bestarm.core.parameters import PSEUDO_COUNT
from bestarm.core.rules import Test
from bestarm.core.scatter import noise_and_delta
from bestarm.core.setting import Setting
from bestarm.core.state import Totals


def pairs(state: Totals, setting: Setting) -> Reading:
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

    Where sigma is not given, it is replaced by a bound that it exceeds with probability at most δ/20
    (`scatter_bound`), and δ by 0.95 δ: α(i,j) grows with σ, so outside of that event nothing changes.
    """
    pulls, view = state.pulls, state.estimate
    leader = int(np.argmax(view.values))
    sigma, delta = noise_and_delta(state.residual, state.freedom, setting)
    level = math.log((setting.counted - 1) / delta)
    own = float(pulls[leader])  # Python computes much faster with its own numbers than with numpy's
    widths = np.zeros(setting.arms)
    counted, radius = 0.0, 0.0
    for k in range(setting.arms):
        if k != leader:
            if pulls[k] != counted:  # arms with as many pulls have the same radius
                counted = float(pulls[k])
                radius = pair_radius(own, counted, level, setting.pseudo_count)
            widths[k] = radius
    return read(view.values, leader, widths, 0.0, sigma, setting.epsilon)


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


def mixture_radii(state: Totals, setting: Setting) -> Floats:
    """`σ √( 2 (T+ρ)/T² (log(K/δ) + ½ log(1 + T/ρ)) )`: the mixture of the pair test, for one arm.

    *Proof.* √(ρ/(T+ρ)) exp(Z²/(2σ²(T+ρ))) with Z = T(μ̂ − μ) is a non-negative supermartingale that starts at 1
    (the mixture of `pairs`), so by Ville's inequality it ever reaches K/δ with probability at most δ/K; a union
    over the K arms.
    """
    counts = state.pulls.astype(np.float64)
    rho = setting.pseudo_count
    sigma, delta = noise_and_delta(state.residual, state.freedom, setting)
    threshold = math.log(setting.counted / delta) + 0.5 * log1p(counts / rho)
    radii: Floats = sigma * np.sqrt(2.0 * (counts + rho) / (counts * counts) * threshold)
    return radii


PAIRS = Test(
    "pairs",
    "a one-sided mixture for each pair, for arms without features or with linearly independent ones",
    SEPARATE,
    pairs,
    mixture_radii,
    (PSEUDO_COUNT,),
    noise="either",
    shows_index=False,
    growth=(0.3, 1.15),
    how="compares each arm with the leader over all batches",
)
