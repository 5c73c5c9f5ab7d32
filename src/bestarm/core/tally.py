"""What has been observed: how often each arm was pulled, and the sum of what was seen."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from bestarm.core.arrays import Counts, Floats

A = TypeVar("A", "Counts", "Floats")


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Pulls and reward sums of the arms that were pulled. Tallies add; it is all that ever crosses the network.

    Where a test asks for it there is a third number for each arm, the sum of the squares of (reward − centre);
    the centre is a constant of the problem. Without it `squares` is empty. A test may ask for sums of each arm
    against a rival instead (`core.bets`): `rivals` are their numbers, −1 for none, and `against` the sums, so
    many for each arm in its turn. They belong to their batch, and a sum of tallies has none. A tally is small
    where few of many arms were pulled, and needs no numpy.

    >>> first = Tally.of([1, 0], [0.5, 0.0])
    >>> both = first + Tally.of([0, 2], [0.0, 1.5])
    >>> both.to_json(["A", "B"]), both.samples
    ({'A': [1, 0.5], 'B': [2, 1.5]}, 3)
    >>> both.pulls.tolist(), both.reward_sums.tolist()
    ([1, 2], [0.5, 1.5])
    """

    size: int  # how many arms there are, pulled or not
    arms: array[int]  # those that were pulled, in order
    counts: array[int]
    sums: array[float]
    squares: array[float]
    rivals: array[int] = field(default_factory=lambda: array("q"))
    against: array[float] = field(default_factory=lambda: array("d"))

    @classmethod
    def of(
        cls, pulls: Sequence[int], reward_sums: Sequence[float], squares: Sequence[float] | None = None
    ) -> Tally:
        """A tally from plain lists with a number for every arm."""
        if not len(pulls) == len(reward_sums) == len(pulls if squares is None else squares):
            raise ValueError("pulls, reward sums and squares must be equally many")
        kept = [arm for arm in range(len(pulls)) if pulls[arm] or reward_sums[arm]]
        return cls(
            len(pulls),
            array("q", kept),
            array("q", [int(pulls[arm]) for arm in kept]),
            array("d", [reward_sums[arm] for arm in kept]),
            array("d", [] if squares is None else [squares[arm] for arm in kept]),
        )

    @classmethod
    def empty(cls, arms: int) -> Tally:
        """The tally of nothing, the zero of addition."""
        return cls(arms, array("q"), array("q"), array("d"), array("d"))

    @classmethod
    def from_rows(cls, rows: Mapping[int, Sequence[float]], arms: int) -> Tally:
        """A tally from `arm: (pulls, sum)` or `arm: (pulls, sum, squares)`, all of the same kind."""
        arms_pulled = sorted(rows)
        counts, sums, *squares = zip(*map(rows.__getitem__, arms_pulled), strict=True) if rows else ((), ())
        return cls(
            arms,
            array("q", arms_pulled),
            array("q", counts),
            array("d", sums),
            array("d", squares[0] if squares else ()),
        )

    def resized(self, arms: int) -> Tally:
        """The same for another number of arms, at least as many as it names."""
        return self if arms == self.size else replace(self, size=arms)

    def with_rivals(self, rivals: Sequence[int], against: Sequence[float]) -> Tally:
        """The same with the sums of every arm against its rival."""
        return replace(self, rivals=array("q", rivals), against=array("d", against))

    def renumbered(self, places: Mapping[int, int], arms: int) -> Tally:
        """The same with other numbers for the arms, and without those that have none; nor sums against them."""
        rows = {places[arm]: row for arm, row in self.rows.items() if arm in places}
        found = Tally.from_rows(rows, arms)
        if not self.against:
            return found
        rivals = {
            places[arm]: (places.get(rival, -1), x) for arm, (rival, x) in self.duels.items() if arm in places
        }
        sums = [x if rivals[arm][0] >= 0 else 0.0 for arm in found.arms for x in rivals[arm][1]]
        return found.with_rivals([rivals[arm][0] for arm in found.arms], sums)

    @property
    def duels(self) -> dict[int, tuple[int, list[float]]]:
        """`arm: (rival, sums against it)`, where the test asks for them."""
        width = len(self.against) // max(len(self.rivals), 1)
        return {
            arm: (rival, self.against[place * width : (place + 1) * width].tolist())
            for place, (arm, rival) in enumerate(zip(self.arms, self.rivals, strict=False))
        }

    @property
    def rows(self) -> dict[int, list[float]]:
        """`arm: [pulls, sum]`, or with squares `arm: [pulls, sum, squares]`."""
        columns = (self.counts, self.sums, self.squares) if self.squares else (self.counts, self.sums)
        return dict(zip(self.arms, map(list, zip(*columns, strict=True)), strict=True))

    @property
    def samples(self) -> int:
        """All pulls together."""
        return sum(self.counts)

    @property
    def pulls(self) -> Counts:
        """The pulls of every arm, as an array."""
        import numpy as np

        return self._spread(self.counts, np.zeros(self.size, np.int64))

    @property
    def reward_sums(self) -> Floats:
        """The reward sum of every arm, as an array."""
        import numpy as np

        return self._spread(self.sums, np.zeros(self.size))

    def _spread(self, column: array[Any], zeros: A) -> A:
        zeros[self.arms] = column
        zeros.setflags(write=False)
        return zeros

    def __add__(self, other: Tally) -> Tally:
        if not self.arms or not other.arms:
            return other if self.size == 0 or not self.arms else self
        rows = self.rows
        for arm, row in other.rows.items():
            mine = rows.get(arm)
            rows[arm] = row if mine is None else [a + b for a, b in zip(mine, row, strict=True)]
        return Tally.from_rows(rows, self.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.size == other.size and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.size, *(tuple(column) for column in self._values())))

    def _values(self) -> tuple[array[Any], ...]:
        return self.arms, self.counts, self.sums, self.squares, self.rivals, self.against

    def to_json(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """The arms that were pulled, by name: `{arm: [pulls, sum]}` or `{arm: [pulls, sum, squares]}`.

        With sums against a rival: `{arm: [pulls, sum, rival, bet, bet, …]}` or, for items, `{arm: [pulls, sum,
        rival, pairs, Σd, Σd²]}`. Python's JSON keeps every bit.
        """
        rows: dict[str, list[Any]] = {names[arm]: row for arm, row in self.rows.items()}
        for arm, (rival, sums) in self.duels.items():
            rows[names[arm]] += [None if rival < 0 else names[rival], *sums]
        return rows

    @classmethod
    def from_json(cls, value: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Tally:
        """The inverse of `to_json`, for a value that was checked at the edge (`protocol.messages`)."""
        position: dict[str | None, int] = {name: k for k, name in enumerate(names)}
        return cls.from_named({position[name]: row for name, row in value.items()}, position, len(names))

    @classmethod
    def from_named(
        cls, rows: Mapping[int, Sequence[Any]], position: Mapping[str | None, int], arms: int
    ) -> Tally:
        """A tally from rows in which rivals have names."""
        if not rows or len(next(iter(rows.values()))) <= 3:
            return cls.from_rows(rows, arms)
        found = cls.from_rows({arm: row[:2] for arm, row in rows.items()}, arms)
        rivals = [position.get(rows[arm][2], -1) for arm in found.arms]
        return found.with_rivals(rivals, [x for arm in found.arms for x in rows[arm][3:]])
