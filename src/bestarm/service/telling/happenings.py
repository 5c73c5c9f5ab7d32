"""What there is to tell about a study: it was settled, it was closed, it has a warning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from bestarm.protocol.entries import Close
from bestarm.protocol.messages import verdict_to_json
from bestarm.service.storage.study.overview import Overview
from bestarm.service.view.said.ending import end, sentence

MOST_TEXT = 2_000  # letters of a sentence: names may be long


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that is told once: `key` tells it from all else that happens to its study."""

    key: str
    event: str  # settled, closed or warning
    at: str
    sentence: str
    more: dict[str, Any]

    def to_json(self, overview: Overview, id: str) -> dict[str, Any]:
        """What a receiver gets; `id` is the same whenever it is told."""
        return {
            "id": id,
            "event": self.event,
            "study": overview.study.name,
            "at": self.at,
            "sentence": self.sentence[:MOST_TEXT],
            "state": overview.state,
            "samples": overview.total.samples,
            "verdict": verdict_to_json(overview.verdict),
            **self.more,
        }


def happenings(overview: Overview, now: str) -> list[Happening]:
    """All that ever happened to a study and is worth telling, and the warnings that it has now."""
    found, over = [], end(overview)
    if overview.stopped_at is not None:
        at = overview.stopped_when
        said = overview.verdict if over is None else over["said"]
        found.append(Happening("settled", "settled", at, str(said), {"reason": "found"}))
    closes = [one for one in overview.happened if isinstance(one.entry, Close)]
    for one in closes:
        if isinstance(one.entry, Close):
            last = overview.closed and one is closes[-1]
            said = f"{sentence(one.entry)} {overview.last_words if last else ''}".strip()
            more = {"reason": one.entry.cause.value, "by": one.entry.by, "why": one.entry.reason}
            found.append(Happening(f"closed/{one.position}", "closed", one.received_at, said, more))
    for odd in overview.warnings:
        key = f"warning/{hashlib.sha256(odd.key.encode()).hexdigest()[:24]}"
        found.append(Happening(key, "warning", now, str(odd), {"kind": odd.kind, "about": odd.about}))
    return found


def last_upload(overview: Overview) -> str:
    """When the last data came, from which a warning is; before all times if there are none."""
    return overview.history[-1].received_at if overview.history else ""


def is_new(happening: Happening, overview: Overview, since: str) -> bool:
    """Whether it happened after somebody wanted to be told; a warning happens with the last data.

    >>> old = Happening("settled", "settled", "2026-01-01T00:00:00.000Z", "", {})
    >>> is_new(old, None, "2026-01-02T00:00:00.000Z")
    False
    """
    return (last_upload(overview) if happening.event == "warning" else happening.at) >= since
