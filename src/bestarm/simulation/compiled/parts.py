"""What a loop needs beside a method's rules, by the world that it runs in: the rest is not compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bestarm.core.arrays import Counts, Floats
from bestarm.core.plan import whole_items, whole_plates
from bestarm.core.race import name_rivals
from bestarm.simulation.worlds.environment import (
    GAUSSIAN,
    Environment,
    Fill,
    draw_gaussian,
    draw_sum,
    fill,
    fill_plainly,
    fill_sums,
)


class Parts(NamedTuple):
    """How a batch is filled, a pull drawn, a plan made into plates, and the rivals of its arms named."""

    fill: Fill
    draw: Callable[..., float]
    size: Callable[[int, bool, Counts, int], int]
    name: Callable[[Counts, Floats, Counts, Counts], None]


def in_plates_of(plate: int, items: bool, counts: Counts, made: int) -> int:
    """The pulls of a plan, made into whole plates where there are any."""
    if plate > 0:
        return whole_items(counts[:made], plate) if items else whole_plates(counts[:made], plate)
    return plan_size(counts, made)


def as_planned(plate: int, items: bool, counts: Counts, made: int) -> int:
    """The same without plates."""
    return plan_size(counts, made)


def plan_size(counts: Counts, made: int) -> int:
    """The pulls of a plan with so many arms."""
    size = 0
    for place in range(made):
        size += counts[place]
    return size


def no_rivals(pulls: Counts, values: Floats, arms: Counts, named: Counts) -> None:
    """The same where nobody asks for rivals."""


ANY = Parts(fill, draw_sum, in_plates_of, name_rivals)  # what is right in every world


def parts_of(environment: Environment, squares: bool, against: int, plate: int) -> Parts:
    """The least that gives the same numbers as `ANY` does.

    `squares` and `against` say whether the test asks for sums of squares, and for how many against a rival.
    """
    gaussian = environment.kind == GAUSSIAN
    if against > 0:
        filled: Fill = fill
    else:
        filled = fill_plainly if gaussian and not squares else fill_sums
    return Parts(
        filled,
        draw_gaussian if gaussian else draw_sum,
        in_plates_of if plate > 1 else as_planned,
        name_rivals if against > 0 else no_rivals,
    )
