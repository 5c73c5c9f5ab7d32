"""Plans as they are kept: a plan of many arms would be far longer than the upload that it answers.

A short one is JSON, as it is sent. A long one is its numbers, compressed. One that was kept before is the
position of the entry that has it. Behind the mark stands how many pulls it asks for, which is mostly all that
is needed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from json import JSONEncoder

from bestarm.core.plan import Plan
from bestarm.protocol.messages import plan_from_json, plan_to_json

COMPACT = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
SHORT = 200  # letters, below which JSON stays as it is
LONG, AGAIN = "~", "="

Kept = Callable[[int], str | None]  # what is kept of the plan at a position


def keep(plan: Plan | None, arms: Sequence[str]) -> str | None:
    """What is kept of a plan.

    >>> keep(Plan((1, 0), (3, 2)), ("A", "B"))
    '[["B",3],["A",2]]'
    """
    if plan is None:
        return None
    if len(plan.arms) < SHORT // 8:
        text = COMPACT.encode(plan_to_json(plan, arms))
        if len(text) <= SHORT:
            return text
    before = (0, *plan.arms)
    steps = [arm - last for arm, last in zip(plan.arms, before, strict=False)]
    numbers = ";".join(",".join(map(str, column)) for column in (steps, plan.counts, plan.rivals))
    packed = base64.b64encode(zlib.compress(numbers.encode(), 6)).decode()
    return f"{LONG}{plan.size}:{packed}"


def as_before(position: int, size: int) -> str:
    """What is kept of a plan that an earlier entry has."""
    return f"{AGAIN}{size}:{position}"


def size_of(kept: str | None) -> int | None:
    """How many pulls a plan asks for.

    >>> size_of('[["B",3],["A",2]]'), size_of(as_before(7, 24)), size_of(None)
    (5, 24, None)
    """
    if kept is None:
        return None
    if kept[:1] in (LONG, AGAIN):
        return int(kept[1:].partition(":")[0])
    return sum(int(step[1]) for step in json.loads(kept))


def read(kept: str | None, arms: Sequence[str], at: Kept) -> Plan | None:
    """The plan; a ValueError if that is none. `at` looks up what is kept at another position.

    >>> plan = Plan(tuple(range(99)), (2,) * 99)
    >>> read(keep(plan, ()), (), lambda _: None) == plan
    True
    """
    if kept is not None and kept.startswith(AGAIN):
        kept = at(int(kept.partition(":")[2]))
        if kept is None or kept.startswith(AGAIN):
            raise ValueError("the entry that it refers to has none")
    if kept is None:
        return None
    if not kept.startswith(LONG):
        return plan_from_json(json.loads(kept), arms)
    try:
        numbers = zlib.decompress(base64.b64decode(kept.partition(":")[2])).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from None
    steps, counts, rivals = (_numbers(column) for column in numbers.split(";"))
    found, arm = [], 0
    for step in steps:
        arm += step
        found.append(arm)
    return Plan(tuple(found), tuple(counts), tuple(rivals))


def _numbers(column: str) -> Iterable[int]:
    return map(int, column.split(",")) if column else ()


class Texts:
    """Plans as JSON, for who reads a log from its beginning to its end; the last one is kept at hand."""

    def __init__(self, arms: Sequence[str], at: Kept) -> None:
        self._arms, self._at = arms, at
        self._last = "", ""

    def json(self, position: int, kept: str | None) -> str:
        """The plan of the entry at a position; null if it has none."""
        if kept is None:
            return "null"
        if kept[:1] not in (LONG, AGAIN):
            return kept
        name = kept.partition(":")[2] if kept.startswith(AGAIN) else str(position)
        if self._last[0] != name:
            plan = read(kept, self._arms, self._at)
            assert plan is not None
            self._last = name, COMPACT.encode(plan_to_json(plan, self._arms))
        return self._last[1]
