"""One-sided normal mixtures: what a sum of differences is worth as evidence that their mean is above 0."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.elementwise import exp, log, log1p

LOG_2, SQRT_2, SQRT_PI = math.log(2.0), math.sqrt(2.0), math.sqrt(math.pi)
# c₉ to c₀ of the tail of the normal distribution, and how much too large it may make a logarithm.
TAIL = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223),
)
TAIL_ERROR = 1.2e-7


def log_worths(totals: Floats, weights: Floats, sigma: float, rho: float) -> Floats:
    """`log W(Z, V) = log 2 + ½ log(ρ/(V+ρ)) + z²/2 + log Φ(z)`, `z = Z / (σ √(V+ρ))`: what accounts are worth.

    *Proof.* Let Z be a sum of terms w D, each D of mean at most 0 given the past and σ/√w-sub-Gaussian, V the
    sum of the w. For s ≥ 0 exp(sZ/σ² − s²V/(2σ²)) is then a supermartingale that starts at 1, and so is its
    mixture over s with the half-normal density of variance σ²/ρ, which is W. By Ville's inequality it ever
    reaches 1/α with probability at most α.

    >>> log_worths(np.array([0.0, 3.0]), np.array([0.0, 10.0]), 0.3, 9.0).round(3).tolist()
    [0.0, 2.94]
    """
    return worths_and_prices(totals, weights, sigma, rho)[0]


def worths_and_prices(totals: Floats, weights: Floats, sigma: float, rho: float) -> tuple[Floats, Floats]:
    """What accounts are worth (`log_worths`), and what their weight has cost them: `½ log((V+ρ)/ρ) − log 2`."""
    prices: Floats = 0.5 * log1p(weights / rho) - LOG_2
    z = totals / (sigma * np.sqrt(weights + rho))
    above = np.maximum(z, 0.0)
    worths: Floats = 0.5 * above * above - prices + log_beside(z)
    worths[~(weights > 0.0)] = 0.0
    return worths, prices


def log_below(z: Floats) -> Floats:
    """log Φ(z), at most 2.4e-7 too low and never too high, but for the rounding of z².

    >>> log_below(np.array([0.0, 3.0, -40.0])).round(5).tolist()
    [-0.69315, -0.00135, -804.60844]
    """
    under = np.minimum(z, 0.0)
    below: Floats = log_beside(z) - 0.5 * under * under
    return below


def log_beside(z: Floats) -> Floats:
    """log Φ(z), and where z < 0 log Φ(z) + z²/2: what is left of a mixture's heart beside ½ max(z, 0)².

    Far below 0 the two squares of the heart cancel. If they were computed, their rounding would be all that is
    left at z = −1e9: hundreds for or against an arm.

    With x = |z|/√2 and t = 2/(2 + x), `erfc(x) = t exp(−x² + Σ c_n tⁿ)` to a relative 1.2e-7 (Press et al.,
    Numerical Recipes, 6.2). A library's erfc takes one number at a time, and there may be 10,000 arms.

    >>> log_beside(np.array([3.0, -40.0, -1e12])).round(5).tolist()
    [-0.00135, -4.60844, -28.54996]
    """
    x = np.abs(z) / SQRT_2
    t = 2.0 / (2.0 + x)
    power = np.zeros(z.shape[0])
    for place in range(len(TAIL)):
        power = power * t + TAIL[place]
    tails, near = log(t) + power, z >= 0.0
    beside = tails - LOG_2
    beside[near] = log1p(-0.5 * exp(tails[near] - x[near] * x[near]))
    lower: Floats = beside - TAIL_ERROR
    return lower


def log_means(logs: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Of every column its largest number, and the logarithm of the weighted mean of its exponentials.

    >>> log_means(np.log([[1.0, 4.0], [3.0, 4.0]]), np.array([0.5, 0.5]))[1].round(3).tolist()
    [0.693, 1.386]
    """
    highest = np.full(logs.shape[1], -np.inf)
    for step in range(logs.shape[0]):
        highest = np.maximum(highest, logs[step])
    total = np.zeros(logs.shape[1])
    for step in range(logs.shape[0]):
        total += weights[step] * exp(logs[step] - highest)
    return highest, highest + log(total)


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
