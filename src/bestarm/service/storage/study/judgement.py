"""What the server knew after an upload, as it stands beside it in the log: a few numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bestarm.core.counting import messages
from bestarm.service.storage.rows.plans import COMPACT
from bestarm.service.storage.study.overview import Judged
from bestarm.verdict import Reason, Verdict


def said(number: int, samples: int, verdict: Verdict, places: Mapping[str, int]) -> str:
    """How many uploads and samples there were, and the verdict, with the numbers of its arms.

    >>> said(2, 40, Verdict(False, "B", "A", math.inf, 0.25, 40), {"A": 0, "B": 1})
    '[2,40,0,1,0,null,0.25,40,null]'
    """
    index = verdict.breaking_index
    return COMPACT.encode(
        [
            number,
            samples,
            int(verdict.stopped),
            places[verdict.leader],
            places[verdict.challenger],
            index if math.isfinite(index) else None,
            verdict.evidence,
            verdict.samples,
            None if verdict.reason is None else verdict.reason.value,
        ]
    )


def judged(row: Any, arms: Sequence[str], stopped_at: int | None) -> Judged:
    """The same from a row of the log; `stopped_at` is the upload that settled the study."""
    number, samples, *rest = json.loads(row.said)
    ended = stopped_at if stopped_at is not None and stopped_at <= number else 0
    sent = messages(number, ended)
    return Judged(number, row.agent, row.sequence, samples, sent, _verdict(rest, arms), row.received_at)


def number_in(text: str) -> int:
    """Which upload it was."""
    return int(text[1 : text.index(",")])


def _verdict(values: Sequence[Any], arms: Sequence[str]) -> Verdict:
    stopped, leader, challenger, index, evidence, samples, reason = values
    return Verdict(
        bool(stopped),
        arms[leader],
        arms[challenger],
        math.inf if index is None else index,
        evidence,
        samples,
        None if reason is None else Reason(reason),
    )
