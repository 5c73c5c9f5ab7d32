"""A log that proves itself: each entry carries the digest of the one before, and the first that of the charter.

Whoever changes, removes or inserts an entry changes every digest after it. A site that kept the digest of one
of its uploads can tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from json import JSONEncoder
from typing import Any

CANONICAL = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
BESIDE = {"position", "kind", "received_at", "plan", "decision", "digest"}  # of an entry, and not what it says


def charter(problem: Mapping[str, Any], method: str, parameters: Mapping[str, Any], agents: int) -> str:
    """The digest that a log begins with: of what the study is about, but for its name, which may change.

    >>> charter({"name": "x", "arms": ["A", "B"]}, "sharp", {}, 2)[:16]
    '9c7d8b4f2eae8231'
    """
    about = {key: value for key, value in problem.items() if key != "name"}
    said = {"problem": about, "method": method, "parameters": dict(parameters), "agents": agents}
    return hashlib.sha256(CANONICAL.encode(said).encode()).hexdigest()


def link(before: str, position: int, kind: str, received_at: str, decision: str | None, body: str) -> str:
    """The digest of an entry: of the digest before it, its place, its time, the decision that it led to, and
    what it says, with who says it; decision and body as canonical JSON.

    >>> link("00", 1, "closed", "2026-01-01T00:00:00.000Z", None, '{"by":"admin","id":"1f"}')[:16]
    '4f1dfc0420e6ad3a'
    """
    text = f"{before}\n{position}\n{kind}\n{received_at}\n{decision or ''}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


def body_in(row: Mapping[str, Any], has_id: bool) -> str:
    """What an entry says, as canonical JSON, from a row of an export; `has_id` where the id is a part of it."""
    return CANONICAL.encode({key: row[key] for key in row if key not in BESIDE and (has_id or key != "id")})
