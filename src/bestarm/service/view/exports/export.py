"""The whole log of a study as JSON or as a table, piece by piece: nobody needs to hold all of it at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from bestarm import __version__
from bestarm.cells import write_cell
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.version import VERSION
from bestarm.service.storage.rows.plans import Texts
from bestarm.service.storage.study.judgement import judged, number_in
from bestarm.service.storage.study.overview import Charter, Overview
from bestarm.service.view.exports import uploads_table
from bestarm.service.view.said.promise import rests_on
from bestarm.standing import standing

PIECE = 65_536  # letters, about
EXPORT = 2  # the version of this format; the first had no number, no entries and no digests


def export_json(overview: Overview, log: Log) -> Iterator[str]:
    """All that is needed to replay a study, and what was said at every upload.

    The log is read three times, a page at a time: as uploads, for the verdicts, and as entries.
    """
    return _gathered(_json(overview, log))


def export_csv(overview: Overview, log: Log) -> Iterator[str]:
    """The uploads as a table, one row for each upload and arm."""
    return _gathered(_csv(overview, log))


class Log(Protocol):
    """Where the rows of a log come from: a storage."""

    def entries(self, study: Charter, length: int, after: int = 0) -> Iterator[Any]:
        """The rows, up to a length."""

    def plan_texts(self, overview: Overview) -> Texts:
        """The plans in them, as JSON."""


def _json(overview: Overview, log: Log) -> Iterator[str]:
    method = overview.study.method
    problem, parameters = overview.study.stored or (method.problem.to_dict(), dict(method.parameters))
    head = {
        "study": overview.study.name,
        "versions": {"bestarm": __version__, "protocol": VERSION, "export": EXPORT},
        "problem": problem,
        "method": method.name,
        "parameters": parameters,
        "agents": method.agents,
        "length": overview.length,
        "digest": overview.digest,
    }
    yield _text(head).removesuffix("}")
    yield from _list("uploads", (_text(_uploaded(row)) for row in _uploads(overview, log)))
    said = (judged(row, overview.arms, overview.stopped_at).verdict for row in _uploads(overview, log))
    yield from _list("verdicts", (_text(verdict_to_json(verdict)) for verdict in said))
    yield f', "verdict": {_text(verdict_to_json(overview.verdict))}'
    plans, rows = log.plan_texts(overview), log.entries(overview.study, overview.length)
    yield from _list("entries", (_entry(row, plans) for row in rows))
    yield f', "standing": {_text(standing(overview.method, overview.known, overview.rewards).to_json())}'
    yield f', "test": {_text(rests_on(method))}'
    yield "}"


def _uploads(overview: Overview, log: Log) -> Iterator[Any]:
    """The rows of the uploads."""
    rows = log.entries(overview.study, overview.length)
    return (row for row in rows if row.kind == Upload.word)


def _uploaded(row: Any) -> dict[str, Any]:
    return {
        "position": number_in(row.said),
        "agent": row.agent,
        "sequence": row.sequence,
        "tally": json.loads(row.body)["tally"],
        "received_at": row.received_at,
    }


def _entry(row: Any, plans: Texts) -> str:
    """An entry with its plan, whose text can be long and stays as it is."""
    head = {"position": row.position, "kind": row.kind, "id": row.id} | json.loads(row.body)
    tail = {"received_at": row.received_at, "digest": row.digest}
    if row.decision is not None:
        tail["decision"] = json.loads(row.decision)
    plan = plans.json(row.position, row.plan)
    return f'{_text(head).removesuffix("}")}, "plan": {plan}, {_text(tail).removeprefix("{")}'


def _list(name: str, texts: Iterable[str]) -> Iterator[str]:
    start = f', "{name}": ['
    for text in texts:
        yield start + text
        start = ", "
    yield "]" if start == ", " else start + "]"


def _csv(overview: Overview, log: Log) -> Iterator[str]:
    method = overview.study.method
    line = io.StringIO()
    width = 3 + method.against if method.against else 2 + method.squares
    table = csv.DictWriter(line, uploads_table.columns(width), lineterminator="\n")
    table.writeheader()
    for upload in _uploads(overview, log):
        for row in uploads_table.rows(_uploaded(upload)):
            table.writerow({key: repr(x) if isinstance(x, float) else write_cell(x) for key, x in row.items()})
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _gathered(texts: Iterable[str]) -> Iterator[str]:
    """The same text in pieces that are worth sending."""
    held: list[str] = []
    size = 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= PIECE:
            yield "".join(held)
            held, size = [], 0
    if held:
        yield "".join(held)


def _text(value: object) -> str:
    return json.dumps(value, allow_nan=False)
