"""The whole log of a study as JSON or as a table, piece by piece: nobody needs to hold all of it at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from bestarm import __version__
from bestarm.cells import write_cell
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.version import VERSION
from bestarm.service.storage.overview import Judged, Overview
from bestarm.service.view import uploads_table
from bestarm.service.view.promise import rests_on
from bestarm.standing import standing

PIECE = 65_536  # letters, about
EXPORT = 2  # the version of this format; the first had no number, no entries and no digests


def export_json(overview: Overview, entries: Iterable[Any]) -> Iterator[str]:
    """All that is needed to replay a study, and what was said at every upload; `entries` are the log's rows."""
    return _gathered(_json(overview, entries))


def export_csv(overview: Overview) -> Iterator[str]:
    """The uploads as a table, one row for each upload and arm."""
    return _gathered(_csv(overview))


def _json(overview: Overview, entries: Iterable[Any]) -> Iterator[str]:
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
    yield from _list("uploads", (_text(_uploaded(*pair, overview)) for pair in _log(overview)))
    judged = overview.judged[: overview.uploads]
    yield from _list("verdicts", (_text(verdict_to_json(one.verdict)) for one in judged))
    yield f', "verdict": {_text(verdict_to_json(overview.verdict))}'
    yield from _list("entries", map(_entry, entries))
    yield f', "standing": {_text(standing(overview.method, overview.known).to_json())}'
    yield f', "test": {_text(rests_on(method))}'
    yield "}"


def _uploaded(judged: Judged, upload: Upload, overview: Overview) -> dict[str, Any]:
    return {
        "position": judged.position,
        "agent": judged.agent,
        "sequence": judged.sequence,
        "tally": upload.tally.to_json(overview.arms),
        "received_at": judged.received_at,
    }


def _entry(row: Any) -> str:
    """An entry with its plan, whose text can be long and stays as it is."""
    head = {"position": row.position, "kind": row.kind, "id": row.id} | json.loads(row.body)
    tail = {"received_at": row.received_at, "digest": row.digest}
    if row.decision is not None:
        tail["decision"] = json.loads(row.decision)
    return f'{_text(head).removesuffix("}")}, "plan": {row.plan or "null"}, {_text(tail).removeprefix("{")}'


def _list(name: str, texts: Iterable[str]) -> Iterator[str]:
    start = f', "{name}": ['
    for text in texts:
        yield start + text
        start = ", "
    yield "]" if start == ", " else start + "]"


def _csv(overview: Overview) -> Iterator[str]:
    method = overview.study.method
    line = io.StringIO()
    width = 3 + method.against if method.against else 2 + method.squares
    table = csv.DictWriter(line, uploads_table.columns(width), lineterminator="\n")
    table.writeheader()
    for pair in _log(overview):
        for row in uploads_table.rows(_uploaded(*pair, overview)):
            table.writerow({key: repr(x) if isinstance(x, float) else write_cell(x) for key, x in row.items()})
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _log(overview: Overview) -> Iterator[tuple[Judged, Upload]]:
    return zip(overview.judged[: overview.uploads], overview.log[: overview.uploads], strict=True)


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
