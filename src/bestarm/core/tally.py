"""What has been observed: how often each arm was pulled and the sum of what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Pulls and reward sums per arm. Tallies add; it is all that ever crosses the network.

    The paper's statistics are functions of it: `mean = reward_sums / pulls`, and with known features X
    (one row an arm) `V = λI + X' diag(pulls) X` and `b = X' reward_sums`.

    >>> first = Tally.of([1, 0], [0.5, 0.0])
    >>> both = first + Tally.of([0, 2], [0.0, 1.5])
    >>> both.pulls.tolist(), both.reward_sums.tolist(), both.samples
    ([1, 2], [0.5, 1.5], 3)
    >>> both.to_json(["A", "B"])
    {'A': [1, 0.5], 'B': [2, 1.5]}
    """

    pulls: Counts
    reward_sums: Floats

    def __post_init__(self) -> None:
        self.pulls.setflags(write=False)
        self.reward_sums.setflags(write=False)

    @classmethod
    def of(cls, pulls: Sequence[int], reward_sums: Sequence[float]) -> Tally:
        """A tally from two plain lists."""
        return cls(np.array(pulls, dtype=np.int64), np.array(reward_sums, dtype=np.float64))

    @classmethod
    def empty(cls, arms: int) -> Tally:
        """The tally of nothing, the zero of addition."""
        return cls(np.zeros(arms, dtype=np.int64), np.zeros(arms))

    @property
    def samples(self) -> int:
        """All pulls together."""
        return int(self.pulls.sum())

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.pulls + other.pulls, self.reward_sums + other.reward_sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return np.array_equal(self.pulls, other.pulls) and np.array_equal(self.reward_sums, other.reward_sums)

    def __hash__(self) -> int:
        return hash((self.pulls.tobytes(), (self.reward_sums + 0.0).tobytes()))  # -0.0 equals 0.0

    def to_json(self, names: Sequence[str]) -> dict[str, list[float]]:
        """The arms that were pulled, by name: `{arm: [pulls, reward_sum]}`; Python's JSON keeps every bit."""
        rows = zip(names, self.pulls.tolist(), self.reward_sums.tolist(), strict=True)
        return {name: [count, total] for name, count, total in rows if count}

    @classmethod
    def from_json(cls, value: Mapping[str, Sequence[float]], names: Sequence[str]) -> Tally:
        """The inverse of `to_json`, for a value that was checked at the edge (`protocol.messages`)."""
        position = {name: k for k, name in enumerate(names)}
        pulls = np.zeros(len(names), dtype=np.int64)
        reward_sums = np.zeros(len(names))
        for name, (count, total) in value.items():
            pulls[position[name]] = int(count)
            reward_sums[position[name]] = total
        return cls(pulls, reward_sums)
