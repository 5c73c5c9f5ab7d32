"""Everything a site will do until its next upload, as a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bestarm.core.arrays import Counts


@dataclass(frozen=True, slots=True)
class Plan:
    """Which arms to pull, and how often each, before the next upload.

    Where a test asks for bets, `rivals` says against which other arm those of each arm are made, −1 for none.

    >>> Plan((2, 0), (3, 1)).size
    4
    """

    arms: tuple[int, ...]
    counts: tuple[int, ...]
    rivals: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """All pulls of the plan together."""
        return sum(self.counts)

    def without(self, arms: Collection[int]) -> Plan:
        """The same without some of the arms.

        >>> Plan((2, 0), (3, 1), (0, 2)).without([0])
        Plan(arms=(2,), counts=(3,), rivals=(0,))
        """
        kept = [place for place, arm in enumerate(self.arms) if arm not in arms]
        counts = tuple(self.counts[place] for place in kept)
        rivals = tuple(self.rivals[place] for place in kept) if self.rivals else ()
        return Plan(tuple(self.arms[place] for place in kept), counts, rivals)

    def renumbered(self, places: Mapping[int, int]) -> Plan:
        """The same with other numbers for the arms."""
        rivals = tuple(places.get(rival, -1) for rival in self.rivals)
        return Plan(tuple(places[arm] for arm in self.arms), self.counts, rivals)

    def limited(self, most: int, items: bool = False) -> Plan:
        """The plan cut to so many pulls, each arm in its proportion, the largest remainders rounded up.

        With items whole ones are left out; if not even one fits, arms are.

        >>> Plan((0, 1, 2), (6, 3, 1)).limited(4)
        Plan(arms=(0, 1), counts=(3, 1), rivals=())
        >>> Plan((0, 1, 2), (3, 3, 3)).limited(7, items=True)
        Plan(arms=(0, 1, 2), counts=(2, 2, 2), rivals=())
        """
        size, several = self.size, len(self.arms)
        if size <= most:
            return self
        if items:
            whole = [most // several] * several if most >= several else [1] * most + [0] * (several - most)
        else:
            whole = [count * most // size for count in self.counts]
            behind = sorted(range(several), key=lambda place: (-(self.counts[place] * most % size), place))
            for place in behind[: most - sum(whole)]:
                whole[place] += 1
        kept = [(arm, count) for arm, count in zip(self.arms, whole, strict=True) if count]
        return Plan(tuple(arm for arm, _ in kept), tuple(count for _, count in kept))

    def fitted(
        self,
        plate: int | None,
        cannot: Collection[int],
        pulls: Sequence[int],
        items: bool = False,
        room: int = 1,
    ) -> Plan:
        """The plan for a site that works in plates of so many trials, or that can't do some of the arms.

        A plan becomes as many whole plates as it needs, each arm in its proportion, the largest remainders
        rounded up; without plates it is so with the trials that a site has `room` for. The share of an arm that
        the site can't do goes to the others of the plan; if there is none, to the arm with the fewest pulls
        that the site can do. The promise does not depend on what is pulled.
        With items, plates have whole items, and there is nothing to share out: the other arms stay as they are.

        >>> Plan((0, 1), (3, 1)).fitted(6, (), [9, 9])
        Plan(arms=(0, 1), counts=(5, 1), rivals=())
        >>> Plan((0, 1), (3, 1)).fitted(None, {0}, [9, 9, 2])
        Plan(arms=(1,), counts=(4,), rivals=())
        >>> Plan((0, 1, 2), (3, 3, 3)).fitted(6, {0}, [9, 9, 2], items=True)
        Plan(arms=(1, 2), counts=(3, 3), rivals=())
        >>> Plan((0, 1), (3, 1)).fitted(None, (), [9, 9], room=10)
        Plan(arms=(0, 1), counts=(8, 2), rivals=())
        """
        plate = room if plate is None and room > 1 else plate
        if plate is None and not set(self.arms) & set(cannot):
            return self
        able = {arm: count for arm, count in zip(self.arms, self.counts, strict=True) if arm not in cannot}
        if not able:
            others = [arm for arm in range(len(pulls)) if arm not in cannot]
            able = {min(others, key=lambda arm: pulls[arm]): 1} if others else {}
        counts = list(able.values())
        if counts and items:
            whole_items(counts, plate or 1)
        elif counts:
            grow(counts, sum(counts), in_plates(self.size, plate or 1))
        return Plan(tuple(able), tuple(counts))


def whole_plates(counts: MutableSequence[int] | Counts, plate: int) -> int:
    """Make a plan's counts whole plates, in place; the number of pulls that it has then. It compiles too.

    >>> counts = [3, 1]
    >>> whole_plates(counts, 6), counts
    (6, [5, 1])
    """
    size = 0
    for count in counts:
        size += count
    wanted = in_plates(size, plate)
    if wanted > size:
        grow(counts, size, wanted)
    return wanted


def whole_items(counts: MutableSequence[int] | Counts, plate: int) -> int:
    """The same where every item is tried with all arms: plates have as many whole items as fit, at least one.

    >>> counts = [3, 3, 3]
    >>> whole_items(counts, 8), counts
    (12, [4, 4, 4])
    """
    several = len(counts)
    items = in_plates(counts[0], max(plate // several, 1))
    for place in range(several):
        counts[place] = items
    return items * several


def in_plates(size: int, plate: int) -> int:
    """The pulls of as many whole plates as so many pulls need."""
    return -(-size // plate) * plate


def grow(counts: MutableSequence[int] | Counts, size: int, wanted: int) -> None:
    """Let counts that are `size` together become `wanted`, each in its proportion, and nothing be less.

    The largest remainders are rounded up, the first of equal ones first.
    """
    more = wanted - size  # multiplied by this no count gets too large for compiled code
    behind = sorted([(-(counts[place] * more % size), place) for place in range(len(counts))])
    left = more
    for place in range(len(counts)):
        added = counts[place] * more // size
        counts[place] += added
        left -= added
    for rank in range(left):
        counts[behind[rank][1]] += 1
