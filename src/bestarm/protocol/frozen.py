"""A server without its log, as plain values and arrays: what is kept of one, to go on from there."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestarm.core.tally import Tally
from bestarm.methods.composed import Method
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Join, body_of, entry_from
from bestarm.protocol.fold import Fold, plain_state, state_like
from bestarm.protocol.messages import verdict_from_json, verdict_to_json
from bestarm.protocol.past import Past
from bestarm.protocol.server import Server
from bestarm.verdict import Reason

COUNTS = ("uploads", "samples")
COLUMNS = {"pulls": np.int64, "sums": np.float64, "squares": np.float64}
PLACES = ("restored", "length", "stopped_at", "over_at", "last_words", "grew", "unanswered")


def freeze(server: Server) -> dict[str, Any]:
    """Everything that a server knows but its method, its log and its start; `thaw` gives every bit back."""
    known = server.known
    return {
        **{name: getattr(server, name) for name in PLACES},
        **{name: getattr(known, name) for name in COUNTS},
        **{name: np.array(getattr(known, name), kind) for name, kind in COLUMNS.items()},
        "added": [body_of(entry, ()) for entry in known.added],
        "withdrawn": [arm for arm in server.arms if arm in known.withdrawn],
        "corrected": [
            [agent, number, tally.size, tally.to_json(server.arms)]
            for (agent, number), tally in known.corrected.items()
        ],
        "sites": [body_of(join, ()) for join in server.sites.values()],
        "sequences": list(map(list, server.sequences.items())),
        "last": list(map(list, server.last.items())),
        "asked": list(map(list, server.asked.items())),
        "numbers": list(server.numbers),
        "plates": list(map(list, server.plates.items())),
        "closed": None if server.closed is None else server.closed.value,
        "verdict": verdict_to_json(server.verdict),
        "state": plain_state(server.state),
        "reading": plain_state(server.reading),
    }


def thaw(method: Method, values: dict[str, Any], past: Past) -> Server:
    """The server that was frozen."""
    server = Server(method, past=past)
    known = server.known
    for body in values["added"]:
        known = known.changed(entry_from(ArmAdded.word, body, ()))
    for arm in values["withdrawn"]:
        known = known.changed(ArmWithdrawn("", "", arm))
    corrected = {
        (agent, number): Tally.from_json(rows, known.arms).resized(size)
        for agent, number, size, rows in values["corrected"]
    }
    known = Fold(method, known.method, known.arms, known.start, corrected, known.withdrawn, known.added)
    for name in COUNTS:
        setattr(known, name, values[name])
    for name in COLUMNS:
        setattr(known, name, values[name].tolist())
    known.state = state_like(known.state, values["state"])
    server.known = known
    for name in PLACES:
        setattr(server, name, values[name])
    sites = (entry_from(Join.word, body, ()) for body in values["sites"])
    server.sites = {join.agent: join for join in sites if isinstance(join, Join)}
    server.sequences, server.last, server.asked = (
        dict(map(tuple, values[name])) for name in ("sequences", "last", "asked")
    )
    server.numbers = {agent: number for number, agent in enumerate(values["numbers"])}
    server.plates = {agent: [(since, many) for since, many in rows] for agent, rows in values["plates"]}
    server.closed = None if values["closed"] is None else Reason(values["closed"])
    server.verdict = verdict_from_json(values["verdict"])
    server.reading = state_like(server.reading, values["reading"])
    return server
