"""Checks an export without a server: the log alone must lead to every verdict in it, bit for bit."""

from __future__ import annotations

import json
from typing import Any

from bestarm.errors import ServiceError, UserError
from bestarm.methods import METHODS, Verdict, method
from bestarm.problem import Problem
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.server import Server

NEEDED = ("problem", "method", "parameters", "agents", "uploads", "verdict")


def verify(export: object) -> Verdict:
    """The verdict that an export's log leads to; a `ServiceError` says where the export disagrees with it."""
    if not isinstance(export, dict) or any(key not in export for key in NEEDED):
        raise UserError(f"export: it must be an object with {', '.join(NEEDED)}, as `study export` writes it.")
    if not isinstance(export["method"], str) or export["method"] not in METHODS:
        raise UserError(f"export: its method is {export['method']!r}, which this bestarm does not know.")
    parameters, rows = export["parameters"], export["uploads"]
    if not isinstance(parameters, dict) or parameters.keys() & {"name", "problem", "agents"}:
        raise UserError("export: parameters must be an object of name: value.")
    if not isinstance(rows, list) or not isinstance(export.get("verdicts", []), list):
        raise UserError("export: uploads and verdicts must be lists.")
    problem = Problem.from_dict(export["problem"])
    server = Server(method(export["method"], problem, export["agents"], **parameters))
    verdicts = export.get("verdicts")
    if verdicts is not None and len(verdicts) != len(rows):
        raise ServiceError(f"there are {len(rows)} uploads and {len(verdicts)} verdicts.")
    for place, row in enumerate(rows, 1):
        try:
            server.receive(_upload(row, problem))
        except UserError as error:
            raise ServiceError(f"the upload at position {place} can't be right: {error}") from None
        if row.get("position") != place or len(server.log) != place:
            raise ServiceError(f"the log is not in order: position {place} is missing, or repeats an upload.")
        if verdicts is not None:
            _compare(f"at position {place}", verdicts[place - 1], server.verdict)
    _compare("at the end", export["verdict"], server.verdict)
    return server.verdict


def _upload(row: Any, problem: Problem) -> Upload:
    if not isinstance(row, dict):
        raise UserError(f"it is {row!r}.")
    body = {key: row.get(key) for key in ("agent", "sequence", "tally")}
    return Upload.from_json(body | {"problem": problem.fingerprint}, problem)


def _compare(where: str, given: object, replayed: Verdict) -> None:
    expected = verdict_to_json(replayed)
    if json.dumps(given, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise ServiceError(
            f"the verdict {where} is {json.dumps(given)}; the log leads to {json.dumps(expected)}."
        )
