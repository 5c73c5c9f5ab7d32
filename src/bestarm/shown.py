"""How a study's numbers are written for people: the same in the shell, in a notebook and in a report.

`found` is what the server answers about a study (`/status`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple


def number(value: float) -> str:
    """A number with as many digits as a person wants to read.

    >>> number(49663.7), number(429.4), number(12.345), number(0.0312), number(0), number(math.inf)
    ('49,664', '429', '12.3', '0.031', '0', '∞')
    """
    if not math.isfinite(value):
        return "∞"
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"


def percent(share: float) -> str:
    """A share as a percentage.

    >>> percent(0.05), percent(0), percent(0.9985), percent(1)
    ('5 %', '0 %', '99.85 %', '100 %')
    """
    return f"{100 * share:.4g} %"


def share(evidence: float) -> str:
    """How much there is of the evidence that is needed: whole percents, and 100 % only when there is all of it.

    >>> share(0.576), share(0.9999), share(1.3), share(0.001), share(0)
    ('58 %', '99 %', '100 %', 'under 1 %', '0 %')
    """
    if evidence >= 1.0:
        return "100 %"
    rounded = math.floor(100.0 * max(evidence, 0.0) + 0.5)
    return "under 1 %" if rounded == 0 and evidence > 0.0 else f"{min(rounded, 99)} %"


def still(low: int, high: int) -> str:
    """About how many more, with the two leading digits that a guess deserves.

    >>> still(9, 302), still(10449, 10451)
    ('about 9 to 300', 'about 10,000')
    """
    ends = [f"{value:,}" if value < 10 else f"{_two_digits(value):,}" for value in (low, high)]
    return f"about {' to '.join(dict.fromkeys(ends))}"


def _two_digits(value: int) -> int:
    """As the dashboard rounds, halves upward."""
    unit: int = 10 ** (len(str(value)) - 2)
    return (2 * value + unit) // (2 * unit) * unit


def count(number: int, thing: str) -> str:
    """So many things.

    >>> count(1, "run"), count(1000, "run")
    ('1 run', '1,000 runs')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def estimate(value: float | None) -> str:
    """A mean, a difference or an end of an interval.

    >>> estimate(0.84713), estimate(123456.7), estimate(None)
    ('0.8471', '123,457', '–')
    """
    return "–" if value is None else brief(value, 4)


def brief(value: float, digits: int = 3) -> str:
    """A number with so many digits, and no fewer than those before its point.

    >>> brief(0.20212), brief(-5.891), brief(12345.6), brief(12345.6, 6), brief(2e-7)
    ('0.202', '-5.89', '12,346', '12,345.6', '2e-07')
    """
    if not 1000.0 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    return f"{value:,.{max(digits - len(f'{abs(value):.0f}'), 0)}f}"


def apart(*values: float) -> list[str]:
    """Numbers with three digits, or with as many as it takes to see that they differ.

    >>> apart(0.9, 0.5), apart(295.13, 295.41), apart(12345678.1, 12345678.9)
    (['0.9', '0.5'], ['295.1', '295.4'], ['12,345,678', '12,345,679'])
    """
    said: list[str] = []
    for digits in range(3, 17):
        said = [brief(value, digits) for value in values]
        if len(set(said)) == len(set(values)):
            break
    return said


def relative(share: float | None) -> str:
    """A difference in percent.

    >>> relative(12.34), relative(None)
    ('+12.3 %', '–')
    """
    return "–" if share is None else f"{share:+.1f} %"


def settings(values: Mapping[str, Any]) -> str:
    """Parameters on one line.

    >>> settings({"gamma": 0.01, "stopping": "famabpe"})
    'gamma=0.01, stopping=famabpe'
    """
    shown = ((key, f"{value:.4g}" if isinstance(value, float) else value) for key, value in values.items())
    return ", ".join(f"{key}={value}" for key, value in shown)


def moment(at: str) -> str:
    """A time of the log, to the second.

    >>> moment("2027-01-31T09:05:58.099Z")
    '2027-01-31 09:05:58 UTC'
    """
    return at[:19].replace("T", " ") + " UTC"


def headline(found: Mapping[str, Any]) -> str:
    """Where a study stands, after its name, its method and its cost."""
    verdict = found["verdict"]
    cost = f"{count(found['samples'], 'sample')}, {count(found['communications'], 'communication')}"
    start = f"Study {found['study']} ({found['state']}, {found['method']}, {cost})"
    if found["end"] is not None:
        later = f" {found['end']['later']}" if found["end"]["later"] else ""
        answer = f"the answer is {verdict['arm']}." if verdict["stopped"] else found["end"]["said"]
        return f"{start}: {answer}{later}"
    if not found["uploads"]:
        return f"{start}: nothing was uploaded yet."
    return f"{start}: {so_far(found)}"


def so_far(found: Mapping[str, Any]) -> str:
    """What can be said of an open study that has data."""
    verdict, rest = found["verdict"], found["remaining"]
    more = "" if rest is None else f"; {still(rest['low'], rest['high'])} samples to go"
    said = "" if found["standing"]["error"] is None else f" {found['standing']['sentence']}"
    return f"{verdict['leader']} leads, evidence {share(verdict['evidence'])}{more}.{said}"


def limits(found: Mapping[str, Any]) -> list[str]:
    """What is left of the budget, until when there is time, and which arms are out of the question."""
    lines, budget, deadline = [], found["budget"], found["problem"].get("deadline")
    if found["end"] is None and budget is not None:
        lines.append(
            f"Budget: {number(budget['used'])} of {number(budget['budget'])} samples used, "
            f"{number(budget['under_way'])} under way, {number(budget['left'])} left."
        )
    if found["end"] is None and deadline is not None:
        lines.append(f"Deadline: {deadline}.")
    for one in found["withdrawn"]:
        lines.append(f"Withdrawn: {one['arm']}" + (f" ({one['reason']})." if one["reason"] else "."))
    return lines


def best_first(found: Mapping[str, Any]) -> list[int]:
    """The places of the arms: the leader, then by what is shown of them, their differences or else their means.

    Those of which nothing is known come last.
    """
    ahead = 1.0 if found["problem"].get("goal") == "lowest" else -1.0
    apart = found["differences"][0] if found["differences"] else None

    def key(place: int) -> tuple[bool, bool, bool, float]:
        arm, known = found["arms"][place], None
        if apart is not None:
            known = 0.0 if apart["to"] == arm["arm"] else apart["arms"][place]["difference"]
        value = arm["mean"] if known is None else known
        leads = arm["arm"] == found["verdict"]["leader"] and arm["pulls"] > 0
        return not leads, value is None, apart is not None and known is None, ahead * (value or 0.0)

    return sorted(range(len(found["arms"])), key=key)


class ArmColumns(NamedTuple):
    """The table of arms, the best first, in words; every row begins with the arm's name."""

    heads: list[str]
    rows: list[list[str]]


def arm_columns(found: Mapping[str, Any]) -> ArmColumns:
    """Every arm with its interval, or where sites differ its difference, and the odds against it."""
    standing, tested = found["standing"], found["standing"]["error"] is not None
    apart = found["differences"][0] if found["differences"] else None
    unit = found["problem"].get("unit")
    heads = ["arm", "pulls", "mean" if unit is None else f"mean, {unit}"]
    if apart is not None:
        heads += [f"less {apart['to']}", "low", "high", f"of {apart['to']}"]
    elif not tested:
        heads += ["low", "high"]
    if tested:
        heads.append(f"odds; {standing['line']}")
    rows = []
    for place in best_first(found):
        arm, stands = found["arms"][place], standing["arms"][place]
        shown = arm if apart is None else apart["arms"][place]
        cells = [arm["mean"]]
        if apart is not None:
            cells.append(shown["difference"])
        if apart is not None or not tested:
            cells += [shown["low"], shown["high"]]
        change = [] if apart is None else [relative(shown["percent"])]
        words = [stands["words"]] if tested else []
        rows.append([arm["arm"], number(arm["pulls"]), *map(estimate, cells), *change, *words])
    return ArmColumns(heads, rows)
