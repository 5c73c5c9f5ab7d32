"""Everything a site will do until its next upload, as a value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Which arms to pull, and how often each, before the next upload.

    >>> Plan((2, 0), (3, 1)).size
    4
    """

    arms: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """All pulls of the plan together."""
        return sum(self.counts)

    def fitted(self, plate: int | None, cannot: Collection[int], pulls: Sequence[int]) -> Plan:
        """The plan for a site that works in plates of so many trials, or that can't do some of the arms.

        A plan becomes as many whole plates as it needs, each arm in its proportion, the largest remainders
        rounded up. The share of an arm that the site can't do goes to the others of the plan; if there is none,
        to the arm with the fewest pulls that the site can do. The promise does not depend on what is pulled.

        >>> Plan((0, 1), (3, 1)).fitted(6, (), [9, 9])
        Plan(arms=(0, 1), counts=(5, 1))
        >>> Plan((0, 1), (3, 1)).fitted(None, {0}, [9, 9, 2])
        Plan(arms=(1,), counts=(4,))
        """
        if plate is None and not set(self.arms) & set(cannot):
            return self
        size = self.size if plate is None else -(-self.size // plate) * plate
        able = {arm: count for arm, count in zip(self.arms, self.counts, strict=True) if arm not in cannot}
        if not able:
            others = [arm for arm in range(len(pulls)) if arm not in cannot]
            able = {min(others, key=lambda arm: pulls[arm]): 1} if others else {}
        return _in_proportion(able, size)


def _in_proportion(weights: dict[int, int], size: int) -> Plan:
    """A plan of so many pulls, as near to the weights as whole numbers come."""
    together = sum(weights.values())
    whole = {arm: weight * size // together for arm, weight in weights.items()}
    behind = sorted(weights, key=lambda arm: weights[arm] * size % together, reverse=True)
    for arm in behind[: size - sum(whole.values())] if weights else []:
        whole[arm] += 1
    kept = {arm: count for arm, count in whole.items() if count}
    return Plan(tuple(kept), tuple(kept.values()))
