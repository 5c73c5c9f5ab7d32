"""One-sided normal mixtures: what a sum of differences is worth as evidence that their mean is above 0."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats

LOG_2, SQRT_2, SQRT_PI = math.log(2.0), math.sqrt(2.0), math.sqrt(math.pi)
FAR = 20.0  # erfc is still a normal number there


def log_worths(totals: Floats, weights: Floats, sigma: float, rho: float) -> Floats:
    """`log W(Z, V) = log 2 + ½ log(ρ/(V+ρ)) + z²/2 + log Φ(z)`, `z = Z / (σ √(V+ρ))`: what accounts are worth.

    *Proof.* Let Z be a sum of terms w D, each D of mean at most 0 given the past and σ/√w-sub-Gaussian, V the
    sum of the w. For s ≥ 0 exp(sZ/σ² − s²V/(2σ²)) is then a supermartingale that starts at 1, and so is its
    mixture over s with the half-normal density of variance σ²/ρ, which is W. By Ville's inequality it ever
    reaches 1/α with probability at most α.

    >>> log_worths(np.array([0.0, 3.0]), np.array([0.0, 10.0]), 0.3, 9.0).round(3).tolist()
    [0.0, 2.94]
    """
    z = totals / (sigma * np.sqrt(weights + rho))
    worths: Floats = LOG_2 - 0.5 * np.log1p(weights / rho) + 0.5 * z * z + log_below(z)
    return worths


def log_below(z: Floats) -> Floats:
    """log Φ(z), also far below 0, where Φ(z) ≥ exp(−z²/2)/(√π (x + √(x²+2))), x = −z/√2, takes its place.

    >>> log_below(np.array([0.0, -40.0])).round(3).tolist()
    [-0.693, -804.608]
    """
    x = -z / SQRT_2
    tails = np.array([math.erfc(far) for far in np.minimum(x, FAR)])
    beyond = np.maximum(x, FAR)
    bound = -beyond * beyond - np.log(SQRT_PI * (beyond + np.sqrt(beyond * beyond + 2.0)))
    return np.where(x < FAR, np.log(0.5 * tails), bound)


def log_means(logs: Floats) -> tuple[Floats, Floats]:
    """Of every column its largest number, and the logarithm of the mean of its exponentials.

    >>> log_means(np.log([[1.0, 4.0], [3.0, 4.0]]))[1].round(3).tolist()
    [0.693, 1.386]
    """
    highest = np.full(logs.shape[1], -np.inf)
    for step in range(logs.shape[0]):
        highest = np.maximum(highest, logs[step])
    total = np.zeros(logs.shape[1])
    for step in range(logs.shape[0]):
        total += np.exp(logs[step] - highest)
    return highest, highest + np.log(total / logs.shape[0])


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
