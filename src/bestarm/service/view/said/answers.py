"""What a coordinator asks of a study, answered in sentences and few numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bestarm.problem.aims import last_moment
from bestarm.service.storage.study.overview import Overview
from bestarm.service.view.said import ending
from bestarm.service.view.said.better import better
from bestarm.service.view.said.change import changes
from bestarm.service.view.said.ending import sentence
from bestarm.shown import count
from bestarm.standing import Standing, few

MOST_LATELY = 30
DAY = 86_400.0


def answers(overview: Overview, stands: Standing, now: datetime) -> dict[str, Any]:
    """Every answer; a sentence is empty where there is nothing to say."""
    return {
        "ruled_out": ruled_out(stands),
        "stopping_now": stopping_now(overview, stands),
        "better": better(overview) if overview.uploads else "",
        "changes": changes(overview),
        "agreement": None if overview.agreement is None else overview.agreement.to_json(),
        "limits": limits(overview, now),
        "lately": lately(overview),
    }


def ruled_out(stands: Standing) -> str:
    """Which arms are out."""
    if all(one.odds is None for one in stands.arms):
        return "This study's test decides on all arms at once; it rules none out before."
    gone, many = stands.ruled_out, len(stands.arms)
    if not gone:
        return f"None of the {many:,} arms is ruled out yet."
    left = many - len(gone)
    rest = f"; {left:,} can still be the best" if left > 1 else ""
    return f"{len(gone):,} of {many:,} {'is' if len(gone) == 1 else 'are'} ruled out: {few(gone)}{rest}."


def stopping_now(overview: Overview, stands: Standing) -> str:
    """What could be said if it stopped today; what was said, once it is over."""
    end = ending.end(overview)
    return str(end["said"]) if end is not None else stands.summary


def limits(overview: Overview, now: datetime) -> list[dict[str, Any]]:
    """The budget and the deadline: how much is gone, as a share and in a sentence."""
    found: list[dict[str, Any]] = []
    over = overview.verdict.reason is not None
    budget = ending.budget(overview)
    if budget is not None:
        most, used, busy = budget["budget"], budget["used"], budget["under_way"]
        under_way = f", {busy:,} under way" if busy else ""
        said = f"{used:,} of {most:,} samples used{under_way}, {budget['left']:,} left."
        found.append({"kind": "budget", "share": min(used / most, 1.0), "sentence": said})
    deadline = overview.study.problem.deadline
    if deadline is not None and not over:
        ends, began = last_moment(deadline), datetime.fromisoformat(overview.study.created_at)
        left, whole = (ends - now).total_seconds(), (ends - began).total_seconds()
        share = 1.0 if whole <= 0 else min(max(1.0 - left / whole, 0.0), 1.0)
        said = f"{deadline.isoformat()}: {time_left(left)}."
        found.append({"kind": "deadline", "share": share, "sentence": said})
    return found


def time_left(seconds: float) -> str:
    """Days, or hours on the last one.

    >>> time_left(86400 * 12.5), time_left(86400 * 1.2), time_left(7300), time_left(60), time_left(-1)
    ('12 days left', '1 day left', '2 hours left', 'less than an hour left', 'it is past')
    """
    if seconds < 0:
        return "it is past"
    if seconds >= DAY:
        return f"{count(int(seconds / DAY), 'day')} left"
    return f"{count(int(seconds / 3600), 'hour')} left" if seconds >= 3600 else "less than an hour left"


def lately(overview: Overview) -> list[dict[str, Any]]:
    """What happened besides uploads, the last first: warnings as they stand, then what has a time."""
    happened = [
        {"at": one.received_at, "kind": one.entry.word, "by": one.entry.by, "sentence": sentence(one.entry)}
        for one in overview.happened
    ]
    joined = [
        {"at": site.joined_at, "kind": "joined", "by": agent, "sentence": f"{agent} joined."}
        for agent, site in overview.sites.items()
    ]
    settled = []
    if overview.stopped_at is not None:
        settled = [{"at": overview.stopped_when, "kind": "found", "by": "", "sentence": str(overview.verdict)}]
    dated = sorted([*happened, *joined, *settled], key=lambda one: one["at"], reverse=True)
    warned: list[dict[str, Any]] = [
        {"at": None, "kind": "warning", "by": "", "sentence": one.seen} for one in overview.warnings
    ]
    return [*warned, *dated][:MOST_LATELY]
