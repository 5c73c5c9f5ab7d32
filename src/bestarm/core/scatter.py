"""The noise measured: sums of squares from batches, and a bound on sigma from them that holds at all times."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Flags, Floats
from bestarm.core.batch import Batch
from bestarm.core.setting import Setting

SHAPE = 2.0  # of the mixture over how much smaller than the bound sigma may be
ABOVE = math.log(3.0) - 2.0  # log P(Gamma(2) > 2)
KNOWN_WELL = 4  # times the pulls of a batch: what is known by so many may speak about the noise
SHARE = 0.05  # of delta: what the bound on sigma may cost
ROUNDED = 2.0**-51  # four times what a step of a sum may be off
BLURRED = 1e-12  # of a mean: what it differs by less from what was known before may be rounding
UNKNOWN = 1e150  # in the place of a bound that is not there yet: no difference is worth anything


def scatter_bound(residual: float, freedom: float, alpha: float) -> float:
    """A number that sigma exceeds at any time with probability at most alpha; infinite while nothing is known.

    `residual` R is a sum of terms that are, given the past, distributed like σ²χ² or stochastically larger,
    with `freedom` ν degrees of freedom together. The bound is √(R/(2x₀)), x₀ < ν/2 with log_squeezed(x₀, ν) =
    log(1/α). A sum of exactly 0, from repeated values, says nothing.

    *Proof.* For u > 1 and s ≤ σ, u^{ν/2} exp(−(u−1)R/(2s²)) is a supermartingale that starts at 1: a term r
    with n degrees of freedom is at least s²χ²_n in distribution, the exponential falls in r, and E
    exp(−(u−1)χ²_n/2) = u^{−n/2}. So is its mixture over u ~ Gamma(a, rate a) given u > 1, which with x =
    R/(2s²) is `e(x, ν) = e^x a^a Γ(a+ν/2) / (Γ(a) (a+x)^{a+ν/2}) · P(Γ(a+ν/2) > a+x) / P(Γ(a) > a)`. By Ville's
    inequality it ever reaches 1/α for s = σ with probability at most α. e falls in x, so where it stays below
    1/α, R/(2σ²) > x₀, that is σ² < R/(2x₀). `log_squeezed` is at most log e, which only makes the bound larger.
    """
    if not residual > 0.0 or not freedom > 0.0:
        return math.inf
    least = math.log(1.0 / alpha)
    # In y = log x the function is nearly straight far below, and Newton's method from the left can't overshoot
    # by much; bisection takes over where a step leaves the bracket.
    low, high = 1e-12 * freedom, 0.5 * freedom
    if log_squeezed(low, freedom) < least:
        return math.inf
    x = max(0.5 * freedom - math.sqrt(freedom * least), 0.05 * freedom)
    for _ in range(100):
        off = log_squeezed(x, freedom) - least
        if off >= 0.0:
            low = x
        else:
            high = x
        slope = 1.0 - (SHAPE + 0.5 * freedom) / (SHAPE + x)
        step = x - off / slope if slope < 0.0 else 0.0
        x = step if low < step < high else 0.5 * (low + high)
        if high - low < 1e-9 * high or abs(off) < 1e-9:
            break
    return math.sqrt(residual / (2.0 * low))


def log_squeezed(x: float, freedom: float) -> float:
    """log e(x, ν) with P(Γ(k) > y) replaced by its Chernoff bound 1 − exp(k − y + k log(y/k)), y < k."""
    shape, point = SHAPE + 0.5 * freedom, SHAPE + x
    tail = shape - point + shape * math.log(point / shape)
    plain = x + SHAPE * math.log(SHAPE) + math.lgamma(shape) - math.lgamma(SHAPE) - shape * math.log(point)
    return plain + math.log(max(-math.expm1(min(tail, 0.0)), 1e-300)) - ABOVE


def scatter(values: Floats, well: Flags, batch: Batch, centre: float) -> tuple[float, float]:
    """What a batch says about the noise: a sum of squares, and its degrees of freedom.

    Inside each arm: `Q_k − S_k²/n_k`, n_k − 1 degrees, σ²χ² given the past. Between the arms G that were known
    `well` before the batch, with the `values` v: `Σ_{k∈G} n_k (D_k − v_k − c)²`, c their mean weighted by n,
    |G| − 1 degrees: σ² times a non-central χ² given the past, which is stochastically larger. Errors of the
    estimates and interactions only make the noise look larger.
    """
    residual, freedom = inside_arms(batch, centre)
    if well.any():
        weights = batch.pulls[well].astype(np.float64)
        means, before = batch.sums[well] / weights, values[batch.arms[well]]
        off = means - before
        off -= (weights * off).sum() / weights.sum()
        if is_told(off, means, before):
            residual += float((weights * off * off).sum())
            freedom += weights.shape[0] - 1
    return residual, freedom


def is_told(off: Floats, means: Floats, before: Floats) -> bool:
    """Whether any of these differences is more than rounding; if none is, they say nothing, as inside arms.

    Means of rewards that are all 0.1 differ in their last digits, by how many they are.
    """
    return bool((np.abs(off) > BLURRED * (np.abs(means) + np.abs(before))).any())


def inside_arms(batch: Batch, centre: float) -> tuple[float, float]:
    """`Σ_k (Q_k − S_k²/n_k)`, with n_k − 1 degrees of freedom each.

    Of rewards that are very large beside their scatter rounding may have taken away all of it, so no arm counts
    for less than what rounding can take. A batch in which no arm has more says nothing: no degrees of freedom
    either. That happens where the sums are small, and there each supermartingale of `scatter_bound` is worth
    more than 1 on average; so it stays one where such batches are left out.
    """
    counts = batch.pulls.astype(np.float64)
    means = batch.sums / batch.pulls
    off = np.abs(means - centre)
    rounded = ROUNDED * (counts + 2.0) * counts * off * (off + 2.0 * np.abs(means))
    several = batch.pulls > 1
    inside = batch.squares - batch.pulls * (means - centre) ** 2
    if not (several & (inside > rounded)).any():
        return 0.0, 0.0
    inside = np.maximum(inside, rounded)
    inside[~several] = 0.0
    return float(inside.sum()), float(batch.pulls.sum() - batch.pulls.shape[0])


def scatter_alike(values: Floats, well: Flags, batch: Batch, centre: float) -> tuple[float, float]:
    """The same where sites are alike: nothing is common to a batch, so that one with a single arm will do.

    Of the arms that were known `well` before the batch it is `Σ n_k (D_k − v_k)²`, |G| degrees: given the past
    σ² times a non-central χ². The sum of squares around the means of all pulls so far would be larger by σ²χ²
    too, but only for pulls that were not chosen by those means: where an arm is pulled because its mean is what
    it is, that is not so, and the bound fails too often.
    """
    residual, freedom = inside_arms(batch, centre)
    if well.any():
        weights = batch.pulls[well].astype(np.float64)
        means, before = batch.sums[well] / weights, values[batch.arms[well]]
        off = means - before
        if is_told(off, means, before):
            residual += float((weights * off * off).sum())
            freedom += weights.shape[0]
    return residual, freedom


def noise_and_delta(residual: float, freedom: float, setting: Setting) -> tuple[float, float]:
    """Sigma, or the bound that takes its place, and what is left of delta."""
    if setting.sigma > 0.0:
        return setting.sigma, setting.delta
    return bound_and_delta(residual, freedom, setting)


def bound_and_delta(residual: float, freedom: float, setting: Setting) -> tuple[float, float]:
    """The same where sigma is not known."""
    bound = scatter_bound(residual, freedom, SHARE * setting.delta)
    return min(bound, UNKNOWN), (1.0 - SHARE) * setting.delta


def steering_noise(residual: float, freedom: float, values: Floats, sigma: float) -> float:
    """Sigma if it is known, else the plain estimate of it: it steers plans, and decides nothing."""
    return sigma if sigma > 0.0 else plain_noise(residual, freedom, values)


def plain_noise(residual: float, freedom: float, values: Floats) -> float:
    """The plain estimate of sigma; before there are any degrees of freedom the values themselves have to do."""
    if freedom > 0.0 and residual > 0.0:
        return float(np.sqrt(residual / freedom))
    return max(float(np.std(values[values > -np.inf])), 1e-150)  # its square is still a number
