"""Do the sites agree: how far the leader is ahead of one other arm, at each site by itself.

For people, and nothing decides by it. What would speak against the assumptions is in `oddities`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

NORMAL_95 = 1.96
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class AtSite:
    """A site's difference of the leader's mean less the other's, in its batches with both, and about where the
    true one lies, 95 % at a time."""

    site: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """The leader against one other arm, site by site; `upward` is whether the higher mean is the better one."""

    leader: str
    other: str
    upward: bool
    sites: tuple[AtSite, ...]

    @classmethod
    def of(
        cls, leader: str, other: str, upward: bool, sigma: float, accounts: Iterable[tuple[str, float, float]]
    ) -> Agreement:
        """From sums `Z = Σ w (D_leader − D_other)` and `V = Σ w` of each site: `Z/V ± 1.96 σ/√V`.

        >>> found = Agreement.of("A", "B", True, 1.0, [("x", 20.0, 16.0), ("y", -1.0, 16.0)])
        >>> [(one.site, one.difference, round(one.low, 2)) for one in found.sites]
        [('x', 1.25, 0.76), ('y', -0.0625, -0.55)]
        >>> print(found)
        A is ahead of B at 1 of 2 sites; at y it is behind, by no more than chance explains.
        """
        sites = []
        for site, total, weight in accounts:
            if weight > 0.0:
                middle, reach = total / weight, NORMAL_95 * sigma / math.sqrt(weight)
                sites.append(AtSite(site, middle, middle - reach, middle + reach))
        return cls(leader, other, upward, tuple(sites))

    def __str__(self) -> str:
        """In a sentence; nothing while no site has tried both."""
        if not self.sites:
            return ""
        many = len(self.sites)
        behind = [one for one in self.sites if not self._ahead(one.difference)]
        if not behind:
            where = "the one site" if many == 1 else f"all {many:,} sites"
            return f"{self.leader} is ahead of {self.other} at {where} that tried both."
        surely = [one for one in behind if not self._ahead(one.high if self.upward else one.low)]
        named = ", ".join(one.site for one in (surely or behind)[:MOST_NAMED])
        more = f" and {len(surely or behind) - MOST_NAMED} more" if len(surely or behind) > MOST_NAMED else ""
        how = "by more than chance mostly explains" if surely else "by no more than chance explains"
        start = f"{self.leader} is ahead of {self.other} at {many - len(behind):,} of {many:,} sites"
        return f"{start}; at {named}{more} it is behind, {how}."

    def _ahead(self, difference: float) -> bool:
        return difference > 0.0 if self.upward else difference < 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        rows = [
            {"site": one.site, "difference": one.difference, "low": one.low, "high": one.high}
            for one in self.sites
        ]
        return {"leader": self.leader, "other": self.other, "sentence": str(self), "sites": rows}
