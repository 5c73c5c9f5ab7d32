"""Since when each arm is ruled out: the log, replayed, and looked at after every entry."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from bestarm.methods import Method
from bestarm.protocol.entries import entry_from
from bestarm.protocol.server import Server
from bestarm.standing import ruled_out


class Since(NamedTuple):
    """How many uploads and samples there were when an arm was ruled out that is so still, and when that was."""

    uploads: int
    samples: int
    at: str


def ruled_out_since(method: Method, rows: Iterable[Any]) -> dict[str, Since]:
    """For every arm that is ruled out now; `rows` are the log's.

    Odds can fall again, and a correction changes the past: what counts is since when it has been so. An arm
    that was ruled out when the study was settled has been so since then at the latest.
    """
    server = Server(method)
    since: dict[str, Since] = {}
    settled: dict[str, Since] = {}
    for row in rows:
        server.append(entry_from(row.kind, json.loads(row.body), server.arms))
        here = Since(server.uploads, server.samples, row.received_at)
        since = {arm: (settled | since).get(arm, here) for arm in ruled_out(server.method, server.state)}
        settled = settled or (since if server.stopped else {})
    return since
