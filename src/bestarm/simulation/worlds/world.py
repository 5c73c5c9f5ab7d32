"""The world that simulated rewards come from: what nobody who runs a study knows, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bestarm.errors import UserError
from bestarm.problem.checks import check_list, check_vector
from bestarm.reward import check_number, check_size, show

REWARDS = ("gaussian", "yes-no", "bounded", "table", "heavy")
ALIASES = {"normal": "gaussian", "bernoulli": "yes-no"}


@dataclass(frozen=True, slots=True)
class World:
    """How the rewards of a simulation come about. What is left out is as the problem says, the same everywhere.

    Parameters:
        rewards: `gaussian`, `yes-no` (1 with the arm's mean as probability, else 0), `bounded` (Beta
            distributed over the problem's reward_range), `table` (drawn from measured values) or `heavy`
            (Student's t with 3 degrees of freedom). By default the table if there is one, else what the problem
            says of its rewards. `bernoulli` is another word for yes-no, `normal` for gaussian.
        table: measured values of each arm.
        noise: the standard deviation of a reward, for all arms or one for each; by default the problem's sigma,
            which is what methods are told. Bounded rewards have it where the arm's mean is its own, and without
            it a concentration of 4. The scatter of yes-no rewards and of a table follows from them.
        offsets: what each site adds to the means of all arms, in units of the reward, for yes-no of log odds.
            Agent m has `offsets[m % len(offsets)]`.
        drift: the means of all arms move together by `drift · sin(N / 20K)`, N the samples that the server knew
            when the batch's plan was made; for yes-no in log odds.
        interactions: what each site adds to the mean of each arm, a row a site, taken as it is; or a number,
            the standard deviation of such deviations, which are then drawn anew for each run
            (`environment.with_interactions`: the best arm stays the best at every site).
        item_effects: the standard deviation of what an item adds to the rewards of all arms, for yes-no and
            bounded rewards to their log odds. Without items in the problem every trial is on another item.
        item_interactions: the same for what an item adds to each arm by itself.

    The first pull of each arm, which everybody knows, has no offset, drift or interaction. Bounded means, and
    the values of a table, are clipped into the reward range.

    >>> World(rewards="bernoulli", offsets=[0, 0.5]).given
    {'rewards': 'yes-no', 'offsets': (0.0, 0.5)}
    >>> World(drift="much")
    Traceback (most recent call last):
    bestarm.errors.UserError: drift is 'much'; it must be a finite number.
    """

    rewards: str | None = None
    table: Mapping[str, Sequence[float]] | None = None
    noise: float | Sequence[float] | None = None
    offsets: Sequence[float] = ()
    drift: float = 0.0
    interactions: float | Sequence[Sequence[float]] = 0.0
    item_effects: float = 0.0
    item_interactions: float = 0.0

    def __post_init__(self) -> None:
        checked = {
            "rewards": _checked_rewards(self.rewards),
            "table": _checked_table(self.table),
            "noise": _checked_noise(self.noise),
            "offsets": _numbers("offsets", self.offsets),
            "drift": check_size("drift", check_number("drift", self.drift)),
            "interactions": _checked_interactions(self.interactions),
            "item_effects": _checked_scatter("item_effects", self.item_effects),
            "item_interactions": _checked_scatter("item_interactions", self.item_interactions),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def given(self) -> dict[str, Any]:
        """What is not left out, in plain values."""
        values = {slot.name: (getattr(self, slot.name), slot.default) for slot in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def words(self) -> dict[str, float | str]:
        """The same for a line of text or a cell of a table.

        >>> World(noise=0.3, offsets=[0, 0.1], interactions=[[0, 0], [1, -1]]).words
        {'noise': 0.3, 'offsets': '0,0.1', 'interactions': '0,0;1,-1'}
        """
        return {name: _words(value) for name, value in self.given.items() if name != "table"}

    @property
    def least_noise(self) -> float | None:
        """The scatter of the least noisy arm, if it is given; a lower bound may count on it."""
        return min(self.noise) if isinstance(self.noise, Sequence) else self.noise


def _checked_rewards(rewards: object) -> str | None:
    if rewards is None:
        return None
    kind = ALIASES.get(str(rewards), rewards)
    if kind not in REWARDS:
        raise UserError(f"rewards is {rewards!r}; it must be one of {', '.join(REWARDS)}.")
    return str(kind)


def _checked_table(table: object) -> dict[str, tuple[float, ...]] | None:
    if not table:
        return None
    if not isinstance(table, Mapping):
        raise UserError(f"table is {show(table)}; it must have a list of values for each arm.")
    return {str(arm): _numbers(f"table of arm {arm!r}", values) for arm, values in table.items()}


def _checked_noise(noise: object) -> float | tuple[float, ...] | None:
    if noise is None:
        return None
    several = not isinstance(noise, int | float)
    found = _numbers("noise", noise) if several else (check_number("noise", noise),)
    for number in found:
        check_size("noise", check_number("noise", number, "at least 0", lambda x: x >= 0))
    return found if several else found[0]


def _checked_interactions(interactions: object) -> float | tuple[tuple[float, ...], ...]:
    if isinstance(interactions, int | float):
        return _checked_scatter("interactions", interactions)
    rows = check_list("interactions", interactions, "rows, one for each site, or a number")
    return tuple(_numbers(f"interactions[{place}]", row) for place, row in enumerate(rows))


def _checked_scatter(field: str, value: object) -> float:
    return check_size(field, check_number(field, value, "a number of at least 0", lambda x: x >= 0))


def _numbers(field: str, values: object) -> tuple[float, ...]:
    return tuple(check_size(field, number) for number in check_vector(field, values).tolist())


def _words(value: Any) -> float | str:
    if isinstance(value, str | float):
        return value
    rows = value if value and isinstance(value[0], tuple) else (value,)
    return ";".join(",".join(f"{number:g}" for number in row) for row in rows)


PLAIN = World()
