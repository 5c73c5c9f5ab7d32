"""A log's uploads as a table, one row for each upload and arm: the same columns in CSV and in a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bestarm.core.bets import BETS, PAIR, WIDTH

PLACE = ("position", "agent", "sequence", "received_at")
# What a tally has of an arm, by how many numbers that is.
SUMS: Mapping[int, tuple[str, ...]] = {
    2: ("pulls", "reward_sum"),
    3: ("pulls", "reward_sum", "squares"),
    3 + PAIR: ("pulls", "reward_sum", "rival", "pairs", "differences", "squared_differences"),
    3 + WIDTH: ("pulls", "reward_sum", "rival", *(f"bet_{bet}" for bet in BETS)),
}


def columns(width: int) -> list[str]:
    """The columns of a table in which an arm has so many numbers.

    >>> columns(2)
    ['position', 'agent', 'sequence', 'received_at', 'arm', 'pulls', 'reward_sum']
    """
    return [*PLACE, "arm", *SUMS[width]]


def rows(upload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of an upload as an export has it."""
    place = {key: upload[key] for key in PLACE}
    for arm, sums in upload["tally"].items():
        yield {**place, "arm": arm, **dict(zip(SUMS[len(sums)], sums, strict=True))}
