"""How a study ended, what people did to it, and how much of its budget is left: plain values, and sentences."""

from __future__ import annotations

import json
from typing import Any

from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Close,
    Correction,
    Entry,
    Join,
    Renamed,
    Restored,
    TokenMade,
    TokenRevoked,
    Upload,
    entry_from,
)
from bestarm.service.storage.study.overview import Overview
from bestarm.service.view.said.better import against_control
from bestarm.verdict import ENDS, Reason

MOST_EVENTS = 50


def end(overview: Overview) -> dict[str, Any] | None:
    """Why the study is over, what can be said, and what came later; None while it goes on."""
    verdict = overview.verdict
    if verdict.reason is None:
        return None
    if overview.stopped_at is not None:
        why, by, at = "", "", overview.stopped_when
        said = str(verdict)
    else:
        why, by, at = next(
            (one.entry.reason, one.entry.by, one.received_at)
            for one in reversed(overview.happened)
            if isinstance(one.entry, Close)
        )
        said = ENDS[verdict.reason] + overview.last_words
    return {
        "reason": verdict.reason.value,
        "why": why,
        "by": by,
        "at": at,
        "said": " ".join(filter(None, [said, against_control(overview)])),
        "later": _later(overview),
    }


def _later(overview: Overview) -> str:
    """What the answer would be now, if a correction or data came after the end; else nothing."""
    verdict, now = overview.verdict, overview.now
    same = (now.arm, now.leader) == (verdict.arm, verdict.leader)
    if any(one.late and isinstance(one.entry, Correction) for one in overview.happened):
        what = "A correction"
    elif now.samples > verdict.samples and not same:
        what = "Data"
    else:
        return ""
    if same:
        return f"{what} came after the end; it would change nothing."
    settled = ", and nothing would be settled" if verdict.stopped else ""
    would = f"the answer would be {now.leader}" if now.stopped else f"{now.leader} would lead{settled}"
    return f"{what} came after the end, and the verdict stays; now {would}."


def budget(overview: Overview) -> dict[str, int] | None:
    """How much of the budget is used, under way and left; None without a budget."""
    most = overview.study.problem.budget
    if most is None:
        return None
    used = overview.total.samples
    over = overview.verdict.reason is not None
    under_way = 0 if over else sum(site.plan or 0 for site in overview.sites.values())
    return {"budget": most, "used": used, "under_way": under_way, "left": max(most - used - under_way, 0)}


def withdrawn(overview: Overview) -> list[dict[str, str]]:
    """The arms that are out of the question, why, and since when."""
    return [
        {"arm": one.entry.arm, "reason": one.entry.reason, "by": one.entry.by, "at": one.received_at}
        for one in overview.happened
        if isinstance(one.entry, ArmWithdrawn)
    ]


def events(overview: Overview) -> list[dict[str, Any]]:
    """What was done to the study lately, the last first, with who did it."""
    return [
        {
            "position": one.position,
            "kind": one.entry.word,
            "by": one.entry.by,
            "sentence": sentence(one.entry),
            "at": one.received_at,
        }
        for one in overview.happened[: -MOST_EVENTS - 1 : -1]
    ]


def line(row: Any, arms: tuple[str, ...]) -> dict[str, Any]:
    """A row of the log, in a sentence."""
    entry = entry_from(row.kind, json.loads(row.body), arms)
    return {
        "position": row.position,
        "kind": row.kind,
        "agent": getattr(entry, "agent", None),
        "sequence": getattr(entry, "sequence", None),
        "by": getattr(entry, "by", None),
        "sentence": sentence(entry),
        "received_at": row.received_at,
    }


def _ways(entry: Join) -> str:
    """What a site said of itself, where it is not as usual."""
    said = [] if entry.plate is None else [f"plates of {entry.plate:,}"]
    said += [f"without {', '.join(entry.cannot)}"] if entry.cannot else []
    return f": {', '.join(said)}" if said else ""


def sentence(entry: Entry) -> str:
    """What was done, in a sentence.

    >>> sentence(ArmWithdrawn("1", "admin 7f", "XPhos", "it is toxic"))
    'XPhos was withdrawn (it is toxic).'
    """
    reason = getattr(entry, "reason", "")
    why = f" ({reason})" if reason else ""
    match entry:
        case Join():
            return f"{entry.agent} {'said how it works' if entry.number else 'joined'}{_ways(entry)}."
        case Upload():
            many = entry.tally.samples
            return f"{entry.agent} sent batch {entry.sequence}: {many:,} trial{'s' * (many != 1)}."
        case Correction():
            return f"Batch {entry.sequence} of {entry.agent} was corrected{why}."
        case ArmAdded():
            return f"{entry.arm} was added{why}."
        case ArmWithdrawn():
            return f"{entry.arm} was withdrawn{why}."
        case Restored():
            again = "sites send again what it has lost, if their journals have it"
            return f"The log was put back from a backup{why}; {again}."
        case TokenMade() | TokenRevoked():
            whose = f"a {entry.role}" if entry.agent is None else f"site {entry.agent}"
            did = "was made for {}" if isinstance(entry, TokenMade) else "of {} was revoked"
            return f"A token {did.format(whose)}."
        case Renamed():
            return f"The study was renamed from {entry.before} to {entry.name}."
        case Close():
            how = {Reason.BUDGET: "The budget was used up", Reason.DEADLINE: "The deadline passed"}
            return f"{how.get(entry.cause, 'The study was closed')}{why}."
        case _:
            return f"The study was opened again{why}."
