"""What a reward can be, said once for problems, sites and servers; a site needs this and no numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

from bestarm.errors import UserError

Limits = tuple[float, float]
NORMAL, YES_NO, BOUNDED = "normal", "yes-no", "bounded"  # the kinds of rewards
HIGHEST, LOWEST = "highest", "lowest"  # the goals
# Rounding may carry a computed mean past the end of its range, or a normalised feature past length 1.
ROUNDING = 1e-9
# Larger rewards are mistakes, and sums and squares of them would leave the range of floating point.
MOST_REWARD = 1e100
# And so are rewards this many times sigma away from 0: their sums round away what tells the arms apart.
MOST_SIGMAS = 1e12


def aim_in_words(goal: str, unit: str | None = None) -> str:
    """Which rewards are wanted, for whoever reads or types them.

    >>> aim_in_words(HIGHEST), aim_in_words(LOWEST, "mg/l")
    ('Higher is better.', 'Rewards are in mg/l; lower is better.')
    """
    better = "higher is better." if goal == HIGHEST else "lower is better."
    return better.capitalize() if unit is None else f"Rewards are in {unit}; {better}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number must be, and the words for it: one of `only`, or from `low` to `high`.

    >>> Bounds(0.0, 1.0, "a share").accepts(0.5)
    True
    """

    low: float
    high: float
    must_be: str
    only: tuple[float, ...] = ()

    def accepts(self, number: float) -> bool:
        """Whether a number is so."""
        return number in self.only if self.only else self.low <= number <= self.high


def size_bounds() -> Bounds:
    """Of a number that is a reward, or is compared with rewards, and can be computed with."""
    return Bounds(-MOST_REWARD, MOST_REWARD, f"a number from {-MOST_REWARD} to {MOST_REWARD}")


def distance_bounds(sigma: float) -> Bounds:
    """Of a number that is not so many sigmas away from 0 that sums of such rewards say nothing about arms."""
    allowed = f"at most {MOST_SIGMAS:g} sigma away from 0; subtract a constant from all rewards"
    return Bounds(-MOST_SIGMAS * sigma, MOST_SIGMAS * sigma, allowed)


def range_bounds(limits: Limits) -> Bounds:
    """Of a number in the reward range."""
    low, high = limits
    return Bounds(low, high, f"a number from {low} to {high}, the reward_range")


@lru_cache(maxsize=64)
def reward_bounds(limits: Limits | None, sigma: float | None, rewards: str) -> tuple[Bounds, ...]:
    """All that a reward must be; a site that is not this package gets the same from the server.

    >>> [bounds.must_be for bounds in reward_bounds((0.0, 1.0), None, BOUNDED)]
    ['a number from 0.0 to 1.0, the reward_range']
    """
    if rewards == YES_NO:
        return (Bounds(0.0, 1.0, f"0 or 1, since rewards is {rewards!r}", (0.0, 1.0)),)
    if limits is not None:
        return (range_bounds(limits),)
    return (size_bounds(),) if sigma is None else (size_bounds(), distance_bounds(sigma))


def check_reward(reward: object, limits: Limits | None, sigma: float | None, rewards: str = NORMAL) -> float:
    """The reward as a float, or a sentence that says why it is none."""
    found = reward_bounds(limits, sigma, rewards)
    number = check_number("reward", reward) if limits is None and rewards != YES_NO else math.nan
    for bounds in found:
        number = check_number("reward", reward, bounds.must_be, bounds.accepts)
    return number


def check_number(
    field: str,
    value: object,
    allowed: str = "a finite number",
    accepts: Callable[[float], bool] = math.isfinite,
) -> float:
    """A finite real number that is accepted, as a float; True and False are not numbers."""
    try:
        number = math.nan
        if isinstance(value, float) or (isinstance(value, Real) and not isinstance(value, bool)):
            number = float(value)
    except OverflowError:  # a whole number past the largest float
        number = math.inf
    if not math.isfinite(number) or not accepts(number):
        raise UserError(f"{field} is {show(value)}; it must be {allowed}.")
    return number + 0.0  # -0.0 becomes 0.0, so equal problems have equal fingerprints


def check_size(field: str, number: float) -> float:
    """A number that is a reward, or is compared with rewards, and can be computed with."""
    bounds = size_bounds()
    return check_number(field, number, bounds.must_be, bounds.accepts)


def check_distance(field: str, number: float, sigma: float | None) -> float:
    """A number that is not so many sigmas away from 0 that sums of such rewards say nothing about the arms."""
    if sigma is None:
        return number
    bounds = distance_bounds(sigma)
    return check_number(field, number, bounds.must_be, bounds.accepts)


def check_in_range(field: str, value: object, limits: Limits) -> float:
    """A number in the reward range."""
    bounds = range_bounds(limits)
    return check_number(field, value, bounds.must_be, bounds.accepts)


def stretched(limits: Limits) -> Limits:
    """A range and as much beyond its ends as rounding may carry what is computed from numbers inside."""
    low, high = limits
    slack = ROUNDING * max(abs(low), abs(high))
    return low - slack, high + slack


def implied_rewards(limits: Limits | None) -> str:
    """The kind of rewards of a problem that has this range, no sigma, and no word about its rewards."""
    return NORMAL if limits is None else BOUNDED


def middle_of(limits: Limits | None) -> float:
    """Where rewards lie if nobody says: in the middle of their range, or around 0."""
    return 0.0 if limits is None else limits[0] / 2 + limits[1] / 2


def reflected(rewards: Any, around: float = 0.0, pulls: Any = 1) -> Any:
    """Rewards, or sums of so many pulls' rewards, on the other side of a point: 2·around·pulls − rewards.

    Done twice it changes nothing. The least of some numbers becomes the largest.

    >>> reflected(0.25, around=0.5), reflected(0.5, around=0.5, pulls=2)
    (0.75, 1.5)
    """
    return 2.0 * around * pulls - rewards


def squares_around(centre: float, pulls: int, total: float, squares: float) -> float:
    """Σ(reward − centre)² of so many rewards with this sum and this sum of squares; rounding keeps it above 0.

    >>> squares_around(1.0, 2, 3.0, 5.0)
    1.0
    """
    return max(squares - 2 * centre * total + pulls * centre**2, 0.0)


def counts_around(centre: float, rows: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Rows `(pulls, sum, squares)` of a batch as they are kept, with squares around the centre; others stay.

    What lies far from 0 beside its scatter has lost it in its squares, and a centre does not bring it back. So
    an arm has no less of it than rounding can take; and none at all where no arm has more, since such a batch
    says nothing.

    >>> counts_around(1.0, {"A": (2, 3.0, 5.0), "B": (2, 3.0)})
    {'A': [2, 3.0, 1.0], 'B': [2, 3.0]}
    >>> counts_around(1e9, {"A": (2, 2e9 + 2, 2e18 + 4e9)})
    {'A': [2, 2000000002.0, 2.0]}
    """
    kept: dict[str, list[Any]] = {
        arm: list(row) if isinstance(row, (list, tuple)) else [row] for arm, row in rows.items()
    }
    if centre == 0.0:
        return kept
    told: list[list[Any]] = [
        row for row in kept.values() if len(row) == 3 and all(map(_is_number, row)) and row[0] > 0
    ]
    limits = [_lost(centre, *row) for row in told]
    for row in told:
        row[2] = squares_around(centre, *row)
    least = [(total - pulls * centre) * (total / pulls - centre) for pulls, total, _ in told]
    beyond = [row[2] - none for row, none in zip(told, least, strict=True)]
    known = any(row[0] > 1 and more > lost for row, more, lost in zip(told, beyond, limits, strict=True))
    for row, none, more, lost in zip(told, least, beyond, limits, strict=True):
        if row[0] > 1 and abs(more) <= lost:
            row[2] = none + (lost if known else 0.0)
    return kept


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e300


def _lost(centre: float, pulls: int, total: float, squares: float) -> float:
    """Four times what rounding can take of squares that were added up around 0."""
    return 2.0**-51 * (pulls + 2) * (abs(squares) + 2 * abs(centre * total) + pulls * centre**2)


def show(value: object) -> str:
    """A value as a person wrote it, on one line and not too long for a sentence."""
    plain = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    try:
        text = " ".join(repr(plain).split())
    except ValueError:  # Python does not print a number of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
