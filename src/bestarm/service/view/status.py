"""A study as others see it: plain values, made from a snapshot."""

from __future__ import annotations

import csv
import io
import math
from datetime import datetime
from typing import Any

from bestarm.intervals import intervals
from bestarm.methods import Verdict
from bestarm.protocol.messages import verdict_to_json
from bestarm.service.storage import clock
from bestarm.service.storage.ledger import Entry, Site, Snapshot
from bestarm.service.view.promise import promise
from bestarm.service.view.remaining import remaining

MOST_HISTORY = 500
MOST_TREND = 40


def summary(snapshot: Snapshot) -> dict[str, Any]:
    """One line of a list of studies."""
    return {
        "study": snapshot.study.name,
        "method": snapshot.study.method.name,
        "agents": snapshot.study.method.agents,
        "state": snapshot.state,
        "created_at": snapshot.study.created_at,
        "samples": snapshot.total.samples,
        "uploads": snapshot.uploads,
        "communications": snapshot.communications,
        "verdict": verdict_to_json(snapshot.verdict),
    }


def listed(snapshot: Snapshot) -> dict[str, Any]:
    """The same with how it went: when the last upload came, and the evidence on the way, thinned to 40."""
    last = snapshot.entries[snapshot.uploads - 1].received_at if snapshot.uploads else None
    places = thinned(snapshot.uploads, snapshot.stopped_at, MOST_TREND)
    trend = [snapshot.entries[k].verdict.evidence for k in places]
    return summary(snapshot) | {"last_upload": last, "trend": trend}


def study_object(snapshot: Snapshot) -> dict[str, Any]:
    """All of a study but its log."""
    method = snapshot.study.method
    return summary(snapshot) | {
        "problem": method.problem.to_dict(),
        "parameters": dict(method.parameters),
        "promise": promise(method),
    }


def status(snapshot: Snapshot, now: datetime, stale_after: float) -> dict[str, Any]:
    """Everything that a dashboard shows."""
    return study_object(snapshot) | {
        "time": clock.write(now),
        "arms": arms(snapshot),
        "sites": sites(snapshot, now, stale_after),
        "history": history(snapshot),
        "remaining": remaining(snapshot.study.method, snapshot.total.samples, snapshot.verdict),
        "intervals": snapshot.study.method.test.radii is not None,
        "shows": "index" if snapshot.study.method.test.shows_index else "evidence",
    }


def arms(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every arm with its pulls, its estimate and its interval, null where there is none yet."""
    method, total = snapshot.study.method, snapshot.total
    return [
        {
            "arm": name,
            "pulls": pulls,
            **interval._asdict(),
        }
        for name, pulls, interval in zip(
            method.problem.arms, total.pulls.tolist(), intervals(method, total), strict=True
        )
    ]


def sites(snapshot: Snapshot, now: datetime, stale_after: float) -> list[dict[str, Any]]:
    """Every agent that joined or uploaded; `stale` if silent for longer than `stale_after` seconds."""
    rows = []
    for agent in sorted(snapshot.sites.keys() | snapshot.joined.keys()):
        site = snapshot.sites.get(agent, Site())
        last_seen = max(site.last_upload, snapshot.joined.get(agent, ""))
        silent = (now - clock.read(last_seen)).total_seconds()
        rows.append(
            {
                "agent": agent,
                "last_seen": last_seen,
                "samples": site.samples,
                "uploads": site.uploads,
                "bytes": site.bytes,
                "plan": plan(snapshot, site),
                "stale": silent > stale_after,
            }
        )
    return rows


def plan(snapshot: Snapshot, site: Site) -> int | None:
    """The pulls that a site was asked for and has not sent; None if not known, or not asked for any more."""
    if snapshot.stopped_at is not None or site.position == 0:
        return None
    return site.plan


def history(snapshot: Snapshot) -> list[list[Any]]:
    """How the study went: position, samples, breaking index, evidence, time; thinned to at most 500 rows."""
    return [
        [entry.position, entry.samples, _finite(entry.verdict), entry.verdict.evidence, entry.received_at]
        for entry in (snapshot.entries[k] for k in thinned(snapshot.uploads, snapshot.stopped_at))
    ]


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


def event(entry: Entry) -> dict[str, Any]:
    """What a stream says about an upload."""
    verdict = entry.verdict
    return {
        "position": entry.position,
        "agent": entry.agent,
        "sequence": entry.sequence,
        "samples": entry.samples,
        "leader": verdict.leader,
        "challenger": verdict.challenger,
        "breaking_index": _finite(verdict),
        "evidence": verdict.evidence,
        "stopped": verdict.stopped,
        "received_at": entry.received_at,
    }


def export(snapshot: Snapshot) -> dict[str, Any]:
    """The whole log, and all that is needed to replay it."""
    method = snapshot.study.method
    names = method.problem.arms
    return {
        "study": snapshot.study.name,
        "problem": method.problem.to_dict(),
        "method": method.name,
        "parameters": dict(method.parameters),
        "agents": method.agents,
        "uploads": [
            {
                "position": entry.position,
                "agent": entry.agent,
                "sequence": entry.sequence,
                "tally": upload.tally.to_json(names),
                "received_at": entry.received_at,
            }
            for entry, upload in _log(snapshot)
        ],
        "verdicts": [verdict_to_json(entry.verdict) for entry in snapshot.entries[: snapshot.uploads]],
        "verdict": verdict_to_json(snapshot.verdict),
    }


def export_csv(snapshot: Snapshot) -> str:
    """The log as a table, one row for each upload and arm."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["position", "agent", "sequence", "received_at", "arm", "pulls", "reward_sum"])
    for entry, upload in _log(snapshot):
        for arm, (pulls, total) in upload.tally.to_json(snapshot.study.problem.arms).items():
            place = [entry.position, entry.agent, entry.sequence, entry.received_at]
            table.writerow([*place, arm, pulls, repr(total)])
    return text.getvalue()


def _log(snapshot: Snapshot) -> Any:
    return zip(snapshot.entries[: snapshot.uploads], snapshot.log[: snapshot.uploads], strict=True)


def _finite(verdict: Verdict) -> float | None:
    return verdict.breaking_index if math.isfinite(verdict.breaking_index) else None
