"""What in the data speaks against what a study assumes, in words. A warning never blocks anything.

A study in which all is well gets one with probability below 1 %, however often one looks: each kind of warning
has a share of that, and every share is an e-process with Ville's inequality or a union over fixed events. All
of it is kept up to date with every batch; nothing walks over the log.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.agreement import Agreement
from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.core.mixture import LOG_2, log_worths
from bestarm.core.scatter import scatter_bound
from bestarm.differences import Comparisons, half_widths, known_sigma
from bestarm.methods.composed import Method

SHARES = {"arm": 0.002, "site": 0.002, "order": 0.002, "scatter": 0.001, "apart": 0.001, "sigma": 0.001}
SHAPE = 2.0  # of the mixture over how much a group's variance differs
MOST = 3  # batches that are named
MOST_WATCHED = 500  # batches that are kept, of those that scatter most
EVERYWHERE = ""  # in the place of a site: all together


@dataclass(frozen=True, slots=True)
class Oddity:
    """One warning: about which arm, site or upload, what was seen, and what it means for the promise."""

    kind: str  # "noise", "order" or "batch"
    about: str
    seen: str
    meaning: str
    upload: int = 0  # that it is about, if it is about one

    @property
    def key(self) -> str:
        """What tells it from other warnings of the study, also when its numbers change."""
        return f"{self.kind}/{self.about}/{self.upload}"

    def __str__(self) -> str:
        return f"{self.seen} {self.meaning}"

    def to_json(self) -> dict[str, str]:
        """All of it as plain values."""
        return {
            "kind": self.kind,
            "about": self.about,
            "seen": self.seen,
            "meaning": self.meaning,
            "sentence": str(self),
        }


class Oddities:
    """Takes the batches of a study one by one, and says what is odd about them.

    *One sigma.* The sum of squares of a batch around its arms' means is σ²χ² given the past. Where sigma is
    measured they are summed up by arm and by site, and each group is compared with all others (`log_unequal`).

    *One order.* For the j-th leader a, an arm k and a site there is an account like those of `rule_out`, of
    that site's batches alone. If a is at least as good as k in every batch, the accounts of k against a are
    worth supermartingales: half of their share goes to the i-th site by 1/(i(i+1)), half to all sites together.
    If a is nowhere better, those of a against k are. So both are high, at whatever sites, with probability at
    most their level.

    *Batches.* A batch is far from the others if its sum of squares is too large for any sigma below the bound
    (Chernoff, with the share 1/(b(b+1)) for the b-th batch), or if it has an arm farther from a leader than
    what was known before and its own noise allow together; this one takes differences to be the same in all
    batches.
    """

    def __init__(self, method: Method) -> None:
        self.names = method.problem.arms
        self.setting = method.setting
        self.known = known_sigma(method)
        self.centre = method.problem.centre
        self.upward = method.reflect(1.0) > method.reflect(0.0)
        self.of_arms = np.zeros((2, len(self.names)))  # sums of squares, degrees of freedom
        self.of_sites = np.zeros((2, 4))
        self.number, self.all_residual, self.all_freedom = 0, 0.0, 0.0  # of all batches
        self.of_batches = array("d"), array("d")  # of those that scatter most
        self.numbers = array("q")  # which batch each of these was
        self.senders = array("q")  # the number of its site
        self.positions = array("q")  # and which upload it was
        self.sites: dict[str, int] = {}
        self.orders: dict[tuple[int, int], dict[int, list[float]]] = {}  # row and site: Z and V of each arm
        self.opinions: dict[tuple[int, int], dict[tuple[bool, bool], str]] = {}  # row and arm: who says what
        self.apart: list[Oddity] = []

    def add(self, batch: Batch, site: str, position: int, comparisons: Comparisons) -> None:
        """One more batch, from the upload at a position; `comparisons` are those of the batches before it."""
        place = self.sites.setdefault(site, len(self.sites))
        if place >= self.of_sites.shape[1]:
            self.of_sites = np.concatenate((self.of_sites, np.zeros(self.of_sites.shape)), axis=1)
        self._scatter(batch, place, position)
        sigma = self._sigma()
        if not math.isfinite(sigma):
            return
        farthest, said = 1.0, ""
        for row, arms, weights, gaps in comparisons.contrasts(batch):
            if row == 0:
                continue
            totals, known = comparisons.accounts[row][:, arms]
            allowed = self._allowed(row, weights, known, sigma)
            before = totals / np.where(known > 0.0, known, 1.0)
            ratios = np.abs(gaps - before) / allowed
            if ratios.max(initial=0.0) > farthest:
                far = int(np.argmax(ratios))
                farthest = float(ratios[far])
                leader, arm = self.names[comparisons.bases[row]], self.names[arms[far]]
                said = f"{arm} less {leader} is {-gaps[far]:.3g} in it, and {-before[far]:.3g} in those before"
            self._order(row, place, site, arms.tolist(), weights * gaps, weights, sigma)
            together = totals + weights * gaps, known + weights
            self._opinion(row, EVERYWHERE, arms.tolist(), *together, sigma, 1.0)
        if said and len(self.apart) < MOST:
            self.apart.append(self._far(position, site, said))

    def found(self, comparisons: Comparisons) -> tuple[Oddity, ...]:
        """All that is odd now."""
        return (*self._batches(), *self._noise(), *self._disagreements(comparisons))

    def agreement(self, comparisons: Comparisons, leader: int, other: int) -> Agreement | None:
        """What each site by itself says of a leader and another arm; None while it has not led for long."""
        if leader not in comparisons.bases[1:] or other < 0 or other == leader:
            return None
        row = 1 + comparisons.bases[1:].index(leader)
        residual, freedom = self.of_arms.sum(axis=1).tolist()
        sigma = self.known or (math.sqrt(residual / freedom) if freedom > 0.0 else math.nan)
        if not math.isfinite(sigma):
            return None
        accounts = []
        for site, place in self.sites.items():
            known = self.orders.get((row, place), {}).get(other)
            if known is not None:
                accounts.append((site, known[0], known[1]))
        return Agreement.of(self.names[leader], self.names[other], self.upward, sigma, accounts)

    # What is kept of it

    def freeze(self) -> dict[str, Any]:
        """All that it knows, as plain values and arrays."""
        return {
            "of_arms": self.of_arms,
            "of_sites": self.of_sites,
            "batches": [self.number, self.all_residual, self.all_freedom],
            "of_batches": [*self.of_batches, self.numbers, self.senders, self.positions],
            "sites": list(self.sites),
            "orders": [
                [
                    row,
                    site,
                    np.array(list(accounts), np.int64),
                    np.array(list(accounts.values())).reshape(-1, 2),
                ]
                for (row, site), accounts in self.orders.items()
            ],
            "opinions": [
                [row, arm, [[*which, site] for which, site in said.items()]]
                for (row, arm), said in self.opinions.items()
            ],
            "apart": [[one.kind, one.about, one.seen, one.meaning] for one in self.apart],
        }

    def thaw(self, values: dict[str, Any]) -> None:
        """Go on from what was kept."""
        self.of_arms, self.of_sites = values["of_arms"], values["of_sites"]
        self.number, self.all_residual, self.all_freedom = values["batches"]
        residuals, freedoms, *others = values["of_batches"]
        self.of_batches = array("d", residuals), array("d", freedoms)
        self.numbers, self.senders, self.positions = (array("q", column) for column in others)
        self.sites = {site: place for place, site in enumerate(values["sites"])}
        self.orders = {
            (row, site): dict(zip(arms.tolist(), accounts.tolist(), strict=True))
            for row, site, arms, accounts in values["orders"]
        }
        self.opinions = {
            (row, arm): {(above, everywhere): site for above, everywhere, site in said}
            for row, arm, said in values["opinions"]
        }
        self.apart = [Oddity(*fields) for fields in values["apart"]]

    # One sigma

    def _scatter(self, batch: Batch, place: int, position: int) -> None:
        residual, freedom = 0.0, 0.0
        if batch.squares.shape[0]:
            means = batch.sums / batch.pulls
            inside = np.maximum(batch.squares - batch.pulls * (means - self.centre) ** 2, 0.0)
            inside[batch.pulls < 2] = 0.0
            self.of_arms[0, batch.arms] += inside
            self.of_arms[1, batch.arms] += batch.pulls - 1
            residual, freedom = float(inside.sum()), float(batch.pulls.sum() - batch.pulls.shape[0])
            self.of_sites[:, place] += residual, freedom
        self.number += 1
        self.all_residual += residual
        self.all_freedom += freedom
        if freedom > 0.0:
            row = residual, freedom, self.number, place, position
            for column, value in zip(self._columns(), row, strict=True):
                column.append(value)
            if len(self.numbers) >= 2 * MOST_WATCHED:
                self._forget()

    def _columns(self) -> tuple[array[Any], ...]:
        return (*self.of_batches, self.numbers, self.senders, self.positions)

    def _forget(self) -> None:
        """Keep the batches that could become odd: those that would be nearest to it with half of the sigma."""
        sigma = self._sigma()
        _, excess = self._excess(0.5 * sigma if 0.0 < sigma < math.inf else 1.0)
        kept = np.sort(np.argsort(-excess, kind="stable")[:MOST_WATCHED]).tolist()
        for column in self._columns():
            column[:] = array(column.typecode, [column[k] for k in kept])

    def _excess(self, sigma: float) -> tuple[Floats, Floats]:
        """How much more than sigma each batch scatters, and how far that is above what may happen."""
        residuals, freedoms = (np.array(column) for column in self.of_batches)
        ratios = residuals / sigma**2 / freedoms
        numbers = np.array(self.numbers, np.float64)
        tails = 0.5 * freedoms * (ratios - 1.0 - np.log(np.maximum(ratios, 1.0)))
        excess = np.where(ratios > 1.0, tails - np.log(numbers * (numbers + 1.0) / SHARES["scatter"]), -np.inf)
        return ratios, excess

    def _sigma(self) -> float:
        """Sigma, or a bound that it exceeds at any time with probability at most its share."""
        if self.known > 0.0:
            return self.known
        residual, freedom = self.of_arms.sum(axis=1).tolist()
        return scatter_bound(residual, freedom, SHARES["sigma"])

    def _noise(self) -> list[Oddity]:
        """The arm and the site whose scatter differs most from all others', where it differs for sure."""
        found = []
        names = list(self.sites)
        orders = np.arange(1.0, len(names) + 1.0)
        for word, groups, labels, levels in (
            ("arm", self.of_arms, self.names, np.full(len(self.names), math.log(len(self.names)))),
            ("site", self.of_sites[:, : len(names)], names, np.log(orders * (orders + 1.0))),
        ):
            if not groups[1].sum() > 0.0:
                continue
            excess = log_unequal(groups[0], groups[1]) - levels + math.log(SHARES[word])
            worst = int(np.argmax(excess))
            if excess[worst] >= 0.0:
                found.append(self._uneven(word, labels[worst], groups, worst))
        return found

    @staticmethod
    def _uneven(word: str, name: str, groups: Floats, worst: int) -> Oddity:
        others = groups.sum(axis=1) - groups[:, worst]
        ratio = math.sqrt(groups[0, worst] / groups[1, worst] / max(others[0] / others[1], 1e-300))
        much = f"{ratio:.2g} times as much as" if ratio >= 1.0 else f"only {ratio:.2g} times as much as"
        return Oddity(
            "noise",
            name,
            f"The rewards of {word} {name} scatter {much} those of the other {word}s.",
            "The promise counts on one sigma for all; where rewards scatter more than what is measured for all "
            "together, a wrong answer is more likely than delta says.",
        )

    # One order

    def _order(
        self,
        row: int,
        place: int,
        site: str,
        arms: list[int],
        totals: Floats,
        weights: Floats,
        sigma: float,
    ) -> None:
        accounts = self.orders.setdefault((row, place), {})
        for arm, total, weight in zip(arms, totals.tolist(), weights.tolist(), strict=True):
            known = accounts.setdefault(arm, [0.0, 0.0])
            known[0] += total
            known[1] += weight
        sums, informations = np.array([accounts[arm] for arm in arms]).reshape(-1, 2).T
        self._opinion(row, site, arms, sums, informations, sigma, (place + 1.0) * (place + 2.0))

    def _opinion(
        self, row: int, site: str, arms: list[int], totals: Floats, weights: Floats, sigma: float, union: float
    ) -> None:
        """Note who says that the leader's mean is above an arm's, or below."""
        pairs = (len(self.names) - 1) * row * (row + 1)
        level, rho = math.log(2.0 * union * pairs / SHARES["order"]), self.setting.pseudo_count
        if LOG_2 + 0.5 * (totals * totals / (weights + rho)).max(initial=0.0) / sigma**2 < level:
            return  # no account can be worth as much
        for sign in (1.0, -1.0):
            worths = log_worths(sign * totals, weights, sigma, rho)
            for k in np.flatnonzero(worths >= level).tolist():
                said = self.opinions.setdefault((row, arms[k]), {})
                said.setdefault((sign > 0.0, site == EVERYWHERE), site)

    def _disagreements(self, comparisons: Comparisons) -> list[Oddity]:
        """The first pair of arms that sites see in different orders."""
        for (row, arm), said in self.opinions.items():
            for better, worse in ((False, False), (True, False), (False, True)):  # whether all sites say so
                above, below = said.get((self.upward, better)), said.get((not self.upward, worse))
                if above is None or below is None:
                    continue
                leader, other = self.names[comparisons.bases[row]], self.names[arm]
                where = [f"at site {site}" if site else "over all sites" for site in (above, below)]
                return [
                    Oddity(
                        "order",
                        ", ".join(site for site in (above, below) if site),
                        f"Sites disagree: {leader} is better than {other} {where[0]}, and worse {where[1]}.",
                        "The promise counts on one arm that is the best at every site; if there is none, what "
                        "is returned need not be the best anywhere.",
                    )
                ]
        return []

    # Batches

    def _allowed(self, row: int, weights: Floats, known: Floats, sigma: float) -> Floats:
        """How far a batch's differences may be from those before it."""
        pairs = (len(self.names) - 1) * row * (row + 1)
        before = half_widths(known, sigma, math.log(2.0 * pairs / SHARES["apart"]), self.setting.pseudo_count)
        number = self.number
        union = weights.shape[0] * row * (row + 1) * number * (number + 1)
        own: Floats = sigma * np.sqrt(2.0 * math.log(4.0 * union / SHARES["apart"]) / weights)
        return before + own

    def _batches(self) -> list[Oddity]:
        found = list(self.apart)
        sigma = self._sigma()
        if self.numbers and 0.0 < sigma < math.inf:
            ratios, excess = self._excess(sigma)
            far = np.flatnonzero(excess >= 0.0)
            names = list(self.sites)
            for k in far[np.argsort(-ratios[far])].tolist():
                residual, freedom = (column[k] for column in self.of_batches)
                others = (self.all_residual - residual) / max(self.all_freedom - freedom, 1.0)
                times = math.sqrt(residual / freedom) / max(math.sqrt(max(others, 0.0)), 1e-300)
                said = f"its rewards scatter {times:.2g} times as much as all others"
                found.append(self._far(self.positions[k], names[self.senders[k]], said))
        return found[:MOST]

    @staticmethod
    def _far(number: int, site: str, said: str) -> Oddity:
        return Oddity(
            "batch",
            site,
            f"Upload {number}, of site {site}, is far from all others: {said}.",
            "Numbers in other units or a typing mistake would count like any other; if they are wrong, they "
            "have to be corrected for the promise to hold.",
            number,
        )


def log_unequal(residuals: Floats, freedoms: Floats) -> Floats:
    """The logarithm of what speaks, in each group, against its having the same sigma as all others together.

    With the sums of squares R of the group and of the rest, ν degrees of freedom each, it is `min_s Σ log e(x,
    ν)` over both, x = R/(2s²), `e(x, ν) = e^x a^a Γ(a+ν/2) / (Γ(a) (a+x)^{a+ν/2})`.

    *Proof.* If s is the sigma of all, u^{ν/2} exp(−(u−1)x) is for every u > 0 a martingale that starts at 1,
    for the group as for the rest, whatever decides what is sampled; a product of two over different batches and
    arms is one as well, and e is its mixture over u ~ Gamma(a, rate a). The minimum over s is no more than its
    value at the true sigma, so it ever reaches 1/α with probability at most α. It is where t = 1/(2s²) solves
    `Σ R (1 − (a+ν/2)/(a+Rt)) = 0`, a quadratic equation. Stirling's formula without its remainder is a lower
    bound of log Γ.

    >>> log_unequal(np.array([100.0, 100.0, 900.0]), np.array([100.0, 100.0, 100.0])).round(1).tolist()
    [27.6, 27.6, 78.1]
    """
    everything = residuals.sum(), freedoms.sum()
    if not everything[0] > 0.0:
        return np.zeros(residuals.shape)
    shares = np.stack((residuals, everything[0] - residuals)) / everything[0]
    halves = 0.5 * np.stack((freedoms, everything[1] - freedoms))
    both = shares[0] * shares[1]
    middle = SHAPE - (2.0 * SHAPE + halves.sum(axis=0)) * both
    last = SHAPE * (halves * shares).sum(axis=0)
    root = np.sqrt(middle * middle + 4.0 * both * last)
    t = 2.0 * last / np.maximum(middle + root, 1e-300)
    x, shapes = shares * t, SHAPE + halves
    gammas = (shapes - 0.5) * np.log(shapes) - shapes + 0.5 * math.log(2.0 * math.pi)
    constant = SHAPE * math.log(SHAPE) - math.lgamma(SHAPE)
    logs: Floats = (x + constant + gammas - shapes * np.log(SHAPE + x)).sum(axis=0)
    return np.where((freedoms > 0.0) & (freedoms < everything[1]), logs, 0.0)
