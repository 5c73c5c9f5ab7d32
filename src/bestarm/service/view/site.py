"""One site, closely: what it is asked to do now and since when, and its last batches as they count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bestarm.core.tally import Tally
from bestarm.protocol.entries import Correction
from bestarm.service.storage.rows.log import as_upload, entry_of
from bestarm.service.storage.study.overview import Overview

MOST_BATCHES = 25


def site(overview: Overview, agent: str, last: str | None, rows: Iterable[Any]) -> dict[str, Any]:
    """A site that the overview knows; `last` is its plan, `rows` are those of its last uploads."""
    known = overview.sites[agent]
    over = overview.verdict.reason is not None
    plan = [] if over or last is None else [[step[0], step[1]] for step in json.loads(last)]
    return {
        "agent": agent,
        "joined_at": known.joined_at,
        "last_seen": known.last_seen,
        "asked_at": None if over else known.asked_at,
        "plan": plan,
        "asked": asked(over, known.plan),
        "by_hand": not overview.method.bets and not overview.method.pairs,
        "squares": overview.method.squares,
        "batches": batches(overview, agent, rows),
    }


def asked(over: bool, trials: int | None) -> str:
    """What a site is asked for, in a few words.

    >>> asked(False, 24), asked(False, 0), asked(False, None), asked(True, 24)
    ('24 trials', 'to wait', 'not known here', 'nothing any more')
    """
    if over:
        return "nothing any more"
    if trials is None:
        return "not known here"
    return f"{trials:,} trial{'s' * (trials != 1)}" if trials else "to wait"


def batches(overview: Overview, agent: str, rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Its last batches, the last first, as they were corrected; sums of squares are those of the rewards."""
    right = {
        one.entry.sequence: one.entry.tally
        for one in overview.happened
        if isinstance(one.entry, Correction) and one.entry.agent == agent
    }
    found = []
    for row in rows:
        upload = as_upload(entry_of(row, overview.arms))
        tally = right.get(upload.sequence, upload.tally)
        found.append(
            {
                "sequence": upload.sequence,
                "received_at": row.received_at,
                "samples": tally.samples,
                "corrected": upload.sequence in right,
                "counts": counts(tally, overview.arms, overview.study.problem.centre),
            }
        )
    return found


def counts(tally: Tally, arms: tuple[str, ...], centre: float) -> dict[str, list[float]]:
    """`arm: [pulls, sum]`, with the sum of squares where there is one, around 0 as a person would add it up.

    >>> counts(Tally.of([2, 0], [3.0, 0.0], [1.0, 0.0]), ("A", "B"), 1.0)
    {'A': [2, 3.0, 5.0]}
    """
    rows = tally.rows
    return {
        arms[arm]: [
            *row[:2],
            *(square + 2.0 * centre * row[1] - row[0] * centre**2 for square in row[2:]),
        ]
        for arm, row in rows.items()
    }
