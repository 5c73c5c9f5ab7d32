"""The checks of what is wanted of a study beside its promise: a control, a budget, a deadline."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from bestarm.errors import UserError
from bestarm.problem.checks import check_list, check_name
from bestarm.reward import HIGHEST, LOWEST, show

GOALS = (HIGHEST, LOWEST)
DIFFER, ALIKE = SITES = ("differ", "alike")
LONGEST_UNIT = 20
DAY = "a day or a time, such as 2027-01-31 or 2027-01-31T18:00:00Z"


def check_control(value: object, names: Sequence[str]) -> str | None:
    """The arm that the others are compared with, if there is one."""
    if value is None or (isinstance(value, str) and value in names):
        return value
    raise UserError(f"control is {show(value)}; it must be the name of an arm.")


def check_unit(value: object) -> str | None:
    """What rewards are measured in, if somebody says so."""
    if value is None:
        return None
    if len(unit := check_name("unit", value)) > LONGEST_UNIT:
        raise UserError(f"unit is {show(unit)}; it must be at most {LONGEST_UNIT} letters long.")
    return unit


def check_budget(value: object) -> int | None:
    """The most samples of all sites together, if there is a most."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise UserError(f"budget is {show(value)}; it must be a whole number of at least 1.")


def check_deadline(value: object) -> date | None:
    """The last day, or a moment; text is read as ISO 8601, and a time that names no offset is UTC.

    >>> check_deadline("2027-01-31"), check_deadline("2027-01-31T18:00").isoformat()
    (datetime.date(2027, 1, 31), '2027-01-31T18:00:00+00:00')
    """
    if isinstance(value, str):
        try:
            kind = date if len(value) <= len("2027-01-31") else datetime
            value = kind.fromisoformat(value)
        except ValueError:
            raise UserError(f"deadline is {show(value)}; it must be {DAY}.") from None
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if value is None or isinstance(value, date):
        return value
    raise UserError(f"deadline is {show(value)}; it must be {DAY}.")


def last_moment(deadline: date) -> datetime:
    """When a deadline is past: a day lasts until its end, in UTC.

    >>> last_moment(date(2027, 1, 31)).isoformat()
    '2027-02-01T00:00:00+00:00'
    """
    if isinstance(deadline, datetime):
        return deadline
    return datetime.combine(deadline, time(), UTC) + timedelta(days=1)


def check_descriptions(names: Sequence[str], value: object) -> tuple[str, ...]:
    """A text for each arm, empty where there is none; nothing at all if no arm has one."""
    texts = [] if value is None else check_list("descriptions", value, "texts")
    if texts and len(texts) != len(names):
        raise UserError(f"descriptions has {len(texts)} items; it must have {len(names)}, one for each arm.")
    for name, text in zip(names, texts, strict=False):
        if text is not None and not isinstance(text, str):
            raise UserError(f"description of arm {name!r} is {show(text)}; it must be text.")
    return tuple(text or "" for text in texts) if any(texts) else ()


def check_items(value: object, epsilon: float) -> bool:
    """Whether each item is tried with several arms."""
    if not isinstance(value, bool):
        raise UserError(f"items is {show(value)}; it must be true or false.")
    if value and epsilon > 0:
        raise UserError(
            "items is true, and with items only the best arm itself can be found; leave epsilon out."
        )
    return value
