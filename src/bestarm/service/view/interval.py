"""How well each arm's mean is known: the method's own confidence, one arm at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core import confidence
from bestarm.core.arrays import Counts, Floats
from bestarm.core.setting import Setting
from bestarm.core.tally import Tally
from bestarm.methods import Method


class Estimate(NamedTuple):
    """An arm's estimated mean, and the interval around it if there is one yet."""

    mean: float
    low: float | None
    high: float | None


def estimates(method: Method, tally: Tally) -> list[Estimate | None]:
    """An estimate for every arm, None for one that nobody pulled.

    All intervals hold at once, at every time, with probability at least 1 − δ. There are none until every arm
    has been pulled.
    """
    if (tally.pulls == 0).any():
        pairs = zip(tally.pulls.tolist(), tally.reward_sums.tolist(), strict=True)
        return [Estimate(total / pulls, None, None) if pulls else None for pulls, total in pairs]
    values = method.read(tally)[0].values
    radii = radii_of(method, tally)
    least, most = method.problem.reward_range or (-np.inf, np.inf)  # no mean lies outside
    return [
        Estimate(value, max(value - radius, min(least, value)), min(value + radius, max(most, value)))
        for value, radius in zip(values.tolist(), radii.tolist(), strict=True)
    ]


def radii_of(method: Method, tally: Tally) -> Floats:
    """The radius of every arm's own interval.

    The rules give radii α(i,k) of gaps. An arm's own radius is its gap to arms whose means are known to be 0:
    with features, to one whose features are 0; without, to arms that were pulled infinitely often. The pair
    test of `sharp` has no such limit, and takes its mixture for one arm instead.
    """
    rule, setting = method.rules.confidence, method.setting
    if rule is confidence.pairs:
        return mixture_radii(tally.pulls, setting)
    view, _ = method.read(tally)
    if setting.features.shape[1] == 0:
        alone = np.zeros(setting.arms)
        alone[0] = 1.0  # these rules have α(k) in proportion to the width, so a width of 1 says it all
        reading = rule(tally.pulls, view._replace(values=np.zeros(setting.arms), widths=alone), setting)
        radii: Floats = reading.breaking_index * view.widths
        return radii
    at_zero = view._replace(values=np.zeros(2))
    pairs = [np.stack([np.zeros_like(row), row]) for row in setting.features]
    return np.array(
        [rule(tally.pulls, at_zero, setting._replace(features=pair)).breaking_index for pair in pairs]
    )


def mixture_radii(pulls: Counts, setting: Setting) -> Floats:
    """`σ √( 2 (T+ρ)/T² (log(K/δ) + ½ log(1 + T/ρ)) )`.

    *Proof.* √(ρ/(T+ρ)) exp(Z²/(2σ²(T+ρ))) with Z = T(μ̂ − μ) is a non-negative supermartingale that starts at 1
    (the mixture of `confidence.pairs`), so by Ville's inequality it ever reaches K/δ with probability at most
    δ/K; a union over the K arms.
    """
    counts = pulls.astype(np.float64)
    rho = setting.pseudo_count
    threshold = np.log(setting.arms / setting.delta) + 0.5 * np.log1p(counts / rho)
    radii: Floats = setting.sigma * np.sqrt(2.0 * (counts + rho) / (counts * counts) * threshold)
    return radii
