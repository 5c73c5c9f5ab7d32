"""Accounts for arms with features: what speaks against each arm along one direction, not along all at once."""

from __future__ import annotations

import numpy as np

from bestarm.core.algebra import column_inner, inverse_of, product, rows_added, times
from bestarm.core.arrays import Floats
from bestarm.core.fit import Fit
from bestarm.core.setting import Setting

TOTAL, WEIGHT, SPREAD, DEFICIT = range(4)  # Z, V, Q, and from there on e: the columns of an account
PULLS_AHEAD = 2.0  # for each direction: over how many pulls of later batches an account spreads, at least


def collect(state: Fit, information: Floats, score: Floats, pulls: int, setting: Setting) -> None:
    """Add a batch, given its A_b and r_b, to the accounts, in place. Nothing else of it is looked at.

    An account of i against k follows y = z_i − z_k. For a vector g that is chosen before the batch is seen,
    g'r_b has mean (A_bg)'θ and variance σ²g'A_bg. The account adds `Z += g'r_b`, `Q += g'A_bg` and a weight
    `V += w ≥ 0`, and keeps the deficit `e = Σ w y − Σ A_bg`: how far Z is from measuring V y'θ. Least
    squares in the batch alone has no deficit, but a batch of few pulls then says little. So the deficit is
    spread over this batch and later ones, which are expected to bring F = n Ã/N, in n pulls, at least as many
    as this one has: `g = (A_b + F)⁻¹ (e + u y)`, `u = 1/(y'(A_b + F)⁻¹y)`, `w = u − 1/(y'F⁻¹y)`, as least
    squares in all of them together would. The deficit that is left, `F g − (u − w) y`, is 0 where the batch is
    like those before it.
    """
    rank = score.shape[0]
    ahead = max(PULLS_AHEAD * rank, float(pulls)) / state.estimate.samples
    later = ahead * state.information
    both = inverse_of(information + later)
    weighed = times(both, score)
    for row in range(state.opened):
        account = state.accounts[row]
        ways = directions(state, row, setting)
        later_alone = inverse_or_zero(column_inner(ways, product(state.estimate.inverse, ways)) / ahead)
        together = np.maximum(inverse_or_zero(column_inner(ways, product(both, ways))), later_alone)
        wanted = account[DEFICIT:] + together * ways
        chosen = product(both, wanted)
        account[TOTAL] += rows_added(weighed, wanted)
        account[WEIGHT] += together - later_alone
        account[SPREAD] += column_inner(chosen, product(information, chosen))
        account[DEFICIT:] = product(later, chosen) - later_alone * ways


def directions(state: Fit, row: int, setting: Setting) -> Floats:
    """The direction y of every account in a row, one column an arm, by what is known now.

    In row 0 i is the other arm with the largest estimate.
    """
    features = np.ascontiguousarray(setting.features.T)
    if row > 0:
        return features[:, state.leaders[row]].copy().reshape(-1, 1) - features
    values = state.estimate.values.copy()
    first = int(np.argmax(values))
    values[first] = -np.inf
    second = int(np.argmax(values))
    ways = features[:, first].copy().reshape(-1, 1) - features
    ways[:, first] = features[:, second] - features[:, first]
    return ways


def inverse_or_zero(numbers: Floats) -> Floats:
    """1/x, and 0 where x is 0: two arms with the same features have no direction."""
    positive = numbers > 0.0
    return np.where(positive, 1.0 / np.where(positive, numbers, 1.0), 0.0)


def at_least(account: Floats, state: Fit, rho: float, scale: float) -> Floats:
    """What every account of a row is sure to have collected along its direction: `Z + e'θ̂ − scale √q(e)`.

    q is that of `rule_out_span`, whose event bounds |e'(θ̂ − θ)| by the last term.
    """
    deficits, inverse = account[DEFICIT:], state.estimate.inverse
    mapped = product(inverse, deficits)
    unsure = column_inner(mapped, deficits) + rho * column_inner(mapped, mapped)
    likely = rows_added(state.score, mapped)
    sure: Floats = account[TOTAL] + likely - scale * np.sqrt(np.maximum(unsure, 0.0))
    return sure
