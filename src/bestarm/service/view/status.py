"""A study as others see it: plain values, made from an overview."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from bestarm.intervals import intervals
from bestarm.methods import Verdict
from bestarm.protocol.messages import verdict_to_json
from bestarm.service.storage import clock
from bestarm.service.storage.study.overview import Judged, Overview
from bestarm.service.view.said import ending
from bestarm.service.view.said.answers import answers
from bestarm.service.view.said.promise import promise, rests_on
from bestarm.service.view.said.remaining import expected_end
from bestarm.service.view.site import asked
from bestarm.shown import best_first, share
from bestarm.standing import standing

MOST_HISTORY = 500
MOST_TREND = 40


def summary(overview: Overview) -> dict[str, Any]:
    """One line of a list of studies."""
    return {
        "study": overview.study.name,
        "method": overview.study.method.name,
        "agents": overview.study.method.agents,
        "state": overview.state,
        "archived": overview.study.archived,
        "created_at": overview.study.created_at,
        "samples": overview.total.samples,
        "uploads": overview.uploads,
        "communications": overview.communications,
        "verdict": verdict_to_json(overview.verdict),
        "progress": share(overview.verdict.evidence),
    }


def listed(overview: Overview) -> dict[str, Any]:
    """The same with how it went: when the last upload came, and the evidence on the way, thinned to 40."""
    last = overview.history[-1].received_at if overview.history else None
    trend = [one.verdict.evidence for one in _spread(overview, MOST_TREND)]
    return summary(overview) | {"last_upload": last, "trend": trend}


def study_object(overview: Overview) -> dict[str, Any]:
    """All of a study but its log."""
    method = overview.study.method
    return summary(overview) | {
        "problem": method.problem.to_dict(),
        "parameters": dict(method.parameters),
        "promise": promise(method),
        "test": rests_on(method),
        "end": ending.end(overview),
        "budget": ending.budget(overview),
        "withdrawn": ending.withdrawn(overview),
    }


def status(overview: Overview, now: datetime, stale_after: float) -> dict[str, Any]:
    """Everything that a dashboard shows."""
    shown, names = arms(overview), overview.method.problem.arms
    stands = standing(overview.method, overview.known, overview.rewards)
    means = [arm["mean"] for arm in shown]
    found: dict[str, Any] = study_object(overview) | {
        "time": clock.write(now),
        "arms": shown,
        "standing": stands.to_json(),
        "answers": answers(overview, stands, now),
        "differences": [one.to_json(names, means) for one in overview.differences],
        "warnings": [one.to_json() for one in overview.warnings],
        "sites": sites(overview, now, stale_after),
        "history": history(overview),
        "remaining": expected_end(overview, now) if stands.scatters else None,
        "items": overview.items,
        "events": ending.events(overview),
        "intervals": overview.method.test.radii is not None,
        "shows": "index" if overview.method.test.shows_index else "evidence",
    }
    for rank, place in enumerate(best_first(found), start=1):
        shown[place]["rank"] = rank
    return found


def arms(overview: Overview) -> list[dict[str, Any]]:
    """Every arm with its pulls, its estimate and its interval, null where there is none yet."""
    method, known = overview.method, overview.known
    found = intervals(method, known, overview.rewards)
    rows = zip(method.problem.arms, known.pulls.tolist(), found, strict=True)
    return [{"arm": name, "pulls": pulls, **interval._asdict()} for name, pulls, interval in rows]


def sites(overview: Overview, now: datetime, stale_after: float) -> list[dict[str, Any]]:
    """Every agent that joined or uploaded; `stale` if silent for longer than `stale_after` seconds."""
    rows = []
    for agent, site in sorted(overview.sites.items()):
        silent = (now - clock.read(site.last_seen)).total_seconds()
        rows.append(
            {
                "agent": agent,
                "joined_at": site.joined_at,
                "last_seen": site.last_seen,
                "samples": site.samples,
                "uploads": site.uploads,
                "bytes": site.bytes,
                "plan": None if overview.verdict.reason is not None else site.plan,
                "asked": asked(overview.verdict.reason is not None, site.plan),
                "asked_at": None if overview.verdict.reason is not None else site.asked_at,
                "stale": silent > stale_after,
            }
        )
    return rows


def history(overview: Overview) -> list[list[Any]]:
    """How the study went: position, samples, breaking index, evidence, time; thinned to at most 500 rows."""
    return [
        [entry.position, entry.samples, _finite(entry.verdict), entry.verdict.evidence, entry.received_at]
        for entry in _spread(overview, MOST_HISTORY)
    ]


def _spread(overview: Overview, most: int) -> list[Judged]:
    """At most so many uploads: the first, the last, the one that settled the study, and some between them."""
    places = {one.position: k + 1 for k, one in enumerate(overview.history)}
    settled = None if overview.stopped_at is None else places.get(overview.stopped_at)
    return [overview.history[k] for k in thinned(len(overview.history), settled, most)]


def thinned(length: int, keep: int | None, most: int = MOST_HISTORY) -> list[int]:
    """Indices of at most `most` entries: first, last, the one at position `keep`, the rest spread evenly.

    >>> thinned(10, None, most=4), thinned(10, 5, most=4)
    ([0, 3, 6, 9], [0, 4, 9])
    """
    if length <= most:
        return list(range(length))
    wanted = most if keep is None else most - 1
    chosen = {round(k * (length - 1) / (wanted - 1)) for k in range(wanted)}
    return sorted(chosen if keep is None else chosen | {keep - 1})


def event(entry: Judged) -> dict[str, Any]:
    """What a stream says about an upload."""
    verdict = entry.verdict
    return {
        "position": entry.position,
        "agent": entry.agent,
        "sequence": entry.sequence,
        "samples": entry.samples,
        "communications": entry.communications,
        "leader": verdict.leader,
        "challenger": verdict.challenger,
        "breaking_index": _finite(verdict),
        "evidence": verdict.evidence,
        "stopped": verdict.stopped,
        "received_at": entry.received_at,
    }


def _finite(verdict: Verdict) -> float | None:
    return verdict.breaking_index if math.isfinite(verdict.breaking_index) else None
