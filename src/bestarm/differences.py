"""How far each arm is from the leader, or from the control, with intervals that hold where sites differ.

Intervals of an arm's own mean say nothing where every site has its own level. Differences inside a batch do:
whatever is common to the batch cancels. No method decides by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.bets import PAIR
from bestarm.core.race import SETTLED, shared_weights
from bestarm.core.scatter import SHARE, UNKNOWN, scatter_bound
from bestarm.core.stopping.items import FREEDOM, R
from bestarm.core.stopping.rule_out import noise_and_level
from bestarm.methods.composed import Method

NOBODY = -1  # no control, or a leader that is not an arm any more


class Contrast(NamedTuple):
    """What a batch says about the distance of its other arms to the base of a row: w and D_base − D_k."""

    row: int
    arms: Counts
    weights: Floats
    gaps: Floats


class Comparisons:
    """Accounts of a base against every other arm: `Z += w (D_base − D_k)`, `V += w` in the batches with both.

    Row 0 has the control, from the beginning. Row j has the j-th arm that ever led, from the batch after that
    on; leaders count once there were 10 pulls an arm, as in the race of the rule-out tests.

    >>> comparisons = Comparisons(2)
    >>> for _ in range(2):
    ...     comparisons.add(Batch(0, np.arange(2), np.full(2, 20), np.array([15.0, 10.0]), np.empty(0)), 0)
    >>> comparisons.bases, comparisons.accounts[1].tolist()
    ([-1, 0], [[0.0, 2.5], [0.0, 10.0]])

    With items a batch's own pairs count: w is half of how many items have both, and the difference that of the
    rewards on them, times `turn`, which is −1 where the lowest is wanted. There is one for each arm and the
    rival that its plan named, mostly the leader.
    """

    def __init__(self, arms: int, control: int = NOBODY, turn: float = 1.0) -> None:
        self.bases = [control]
        self.turn = turn
        self.accounts = [np.zeros((2, arms))]
        self.samples = 0

    def contrasts(self, batch: Batch) -> Iterator[Contrast]:
        """Of every row whose base is in the batch, beside at least one other arm."""
        means = batch.sums / batch.pulls
        paired = batch.against.shape[0] == PAIR * batch.arms.shape[0]
        for row, base in enumerate(self.bases):
            if paired:
                pairs, totals, _ = batch.against.reshape(-1, PAIR).T
                low = np.flatnonzero((batch.rivals == base) & (pairs > 0.0) & (base >= 0))
                if low.shape[0]:
                    gaps = self.turn * totals[low] / pairs[low]
                    yield Contrast(row, batch.arms[low], 0.5 * pairs[low], gaps)
                continue
            place = np.flatnonzero(batch.arms == base)
            if place.shape[0] and batch.arms.shape[0] > 1:
                low = np.flatnonzero(batch.arms != base)
                weights = shared_weights(batch.pulls[place], batch.pulls[low])
                yield Contrast(row, batch.arms[low], weights, means[place] - means[low])

    def add(self, batch: Batch, leader: int) -> None:
        """One more batch, and who leads after it."""
        for row, arms, weights, gaps in self.contrasts(batch):
            totals, informations = self.accounts[row]
            totals[arms] += weights * gaps
            informations[arms] += weights
        self.samples += int(batch.pulls.sum())
        shape = self.accounts[0].shape
        if self.samples >= SETTLED * shape[1] and leader not in [NOBODY, *self.bases[1:]]:
            self.bases.append(leader)
            self.accounts.append(np.zeros(shape))

    def freeze(self) -> dict[str, Any]:
        """All accounts, as plain values and arrays."""
        return {"bases": self.bases, "accounts": self.accounts, "samples": self.samples}

    def thaw(self, values: dict[str, Any]) -> None:
        """Go on from accounts that were kept."""
        self.bases, self.accounts, self.samples = (values[name] for name in ("bases", "accounts", "samples"))


@dataclass(frozen=True, slots=True)
class Differences:
    """Of every arm to one of them: estimates and half widths, infinite where nothing is known.

    `holds` is the probability with which all intervals hold together, at all times; `alone` says that others
    are shown beside them, which are not among these.
    """

    to: str
    role: str  # "leader" or "control"
    values: Floats
    radii: Floats
    holds: float
    alone: bool
    most: float = math.inf  # no difference can be larger

    @property
    def sentence(self) -> str:
        """What they are."""
        which = "These" if self.alone else "All"
        return (
            f"Differences to {self.to}, the {self.role}: averages over the batches that had both arms. "
            f"{which} intervals hold together, at any time, with probability at least {self.holds:g}. "
            "The study decides by its own test, not by them: an arm may be ruled out while its interval still "
            "has 0 in it. A mean is what an arm would have, had every batch tried all of them."
        )

    def to_json(self, names: tuple[str, ...], means: Sequence[float | None] = ()) -> dict[str, Any]:
        """All of it as plain values; null where nothing is known.

        With the arms' estimates each difference is there in percent of the base's too.
        """
        rows = []
        base = dict(zip(names, means, strict=False)).get(self.to)
        for arm, value, radius in zip(names, self.values.tolist(), self.radii.tolist(), strict=True):
            known = math.isfinite(radius) and math.isfinite(value)
            low, high = (
                (max(value - radius, -self.most), min(value + radius, self.most)) if known else (None, None)
            )
            row = {"arm": arm, "difference": value if known else None, "low": low, "high": high}
            rows.append(row | {"percent": in_percent(value, base) if known else None})
        return {"to": self.to, "role": self.role, "sentence": self.sentence, "holds": self.holds, "arms": rows}


def in_percent(difference: float, base: float | None) -> float | None:
    """A difference in percent of the base's estimate; None where that is not above 0.

    It is an estimate without an interval: where sites differ nothing bounds the base's own mean.

    >>> in_percent(0.1, 0.8), in_percent(0.1, -0.8)
    (12.5, None)
    """
    if base is None or base <= 0.0:
        return None
    percent = 100.0 * difference / base
    return percent if math.isfinite(percent) else None


def differences(method: Method, state: Any, leader: int, comparisons: Comparisons) -> tuple[Differences, ...]:
    """Those to the control, if the problem names one, and those to the leader, once it has led for a while.

    An arm's difference is estimated by −Z/V, the average over the batches with both, weighted by w, of the
    arm's mean less the base's. Its half width is `σ √(2 (V+ρ) (log(1/α) + ½ log(1 + V/ρ))) / V`, where α is
    δ/((K−1) j (j+1)) for the j-th leader and δ/(K−1) for the control. Where sigma is measured, its bound takes
    its place and 0.95 δ that of δ; for yes/no and bounded rewards sigma is half of the range. With items every
    arm has the bound of its own scale, at δ/20 for all of them together; for yes/no and bounded rewards sigma
    is then 1/√2 of the range, since what an item gives with two arms may depend on each other.

    *Proof.* Let d_b be the true difference in a batch, whatever it is, and d = Σ w d_b / V. Given the past,
    w (D_base − D_k − d_b) has mean 0 and is σ√w-sub-Gaussian, so for every s exp(s(Z − Vd)/σ² − s²V/(2σ²)) is a
    supermartingale that starts at 1 when its row is opened, and so is its mixture over s with the normal
    density of variance σ²/ρ, which is `√(ρ/(V+ρ)) exp((Z − Vd)²/(2σ²(V+ρ)))`. By Ville's inequality it ever
    reaches 1/α with probability at most α, whatever happened before the row was opened; where it does not, d
    lies within the half width of Z/V. The j-th leader's row has K − 1 accounts, and Σ_j Σ_k δ/((K−1) j (j+1)) =
    δ, since Σ 1/(j(j+1)) = 1: all intervals to leaders that are ever shown hold together with probability at
    least 1 − δ. Those to the control have a δ of their own. With a bound for sigma the event that it fails, of
    probability δ/20, is added to 0.95 δ. Where an arm joins, K grows, and this holds for those shown from then
    on.
    """
    setting, names = method.setting, method.problem.arms
    sigma, level = _noise_and_level(method, state)
    if np.min(sigma) >= UNKNOWN:
        return ()
    rows = [row for row, base in enumerate(comparisons.bases) if row == 0 or base == leader]
    rows = [row for row in rows if comparisons.accounts[row].any()]
    limits = method.problem.reward_range or (-math.inf, math.inf)
    found = []
    for row in rows:
        totals, weights = comparisons.accounts[row]
        union = math.log((max(setting.counted, 2) - 1) * max(row * (row + 1), 1))
        radii = half_widths(weights, sigma, level + union, setting.pseudo_count)
        values = -totals / np.where(weights > 0.0, weights, 1.0)
        base, holds = names[comparisons.bases[row]], 1.0 - setting.delta
        role, most = "leader" if row else "control", limits[1] - limits[0]
        found.append(Differences(base, role, values, radii, holds, len(rows) > 1, most))
    return tuple(found)


def half_widths(weights: Floats, sigma: float | Floats, level: float, rho: float) -> Floats:
    """`σ √(2 (V+ρ) (level + ½ log(1 + V/ρ))) / V`, infinite where V is 0.

    >>> half_widths(np.array([0.0, 100.0]), 0.3, 3.0, 9.0).round(3).tolist()
    [inf, 0.091]
    """
    known = np.where(weights > 0.0, weights, 1.0)
    widths = sigma * np.sqrt(2.0 * (known + rho) * (level + 0.5 * np.log1p(known / rho))) / known
    return np.where(weights > 0.0, widths, np.inf)


def known_sigma(method: Method) -> float:
    """Sigma in a difference of two arms, 0 where it is measured; rewards on one item may be related."""
    return method.setting.sigma * (math.sqrt(2.0) if method.problem.items else 1.0)


def _noise_and_level(method: Method, state: Any) -> tuple[float | Floats, float]:
    """Sigma or its bound, and log(1/δ) for what is left of δ; no bound where the state measures no noise."""
    setting = method.setting
    if method.test.noise == "own":
        alpha = SHARE * setting.delta / setting.counted  # whoever leads, an arm has its own
        both = state.accounts[0, [R, FREEDOM]].T.tolist()
        scales = [scatter_bound(residual, freedom, alpha) for residual, freedom in both]
        return np.minimum(scales, UNKNOWN), math.log(1.0 / ((1.0 - SHARE) * setting.delta))
    if method.problem.items:
        return known_sigma(method), math.log(1.0 / setting.delta)
    if not hasattr(state, "residual"):
        return noise_and_level(0.0, 0.0, method.setting)
    return noise_and_level(state.residual, state.freedom, method.setting)
