"""Checks an export without a server: its entries are those that were written, and lead to its verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bestarm.chain import CANONICAL, body_in, charter, link
from bestarm.errors import ServiceError, UserError
from bestarm.methods import METHODS, Verdict, method
from bestarm.problem import Problem
from bestarm.protocol.decision import agree
from bestarm.protocol.entries import ENTRIES, Entry, Upload, entry_from
from bestarm.protocol.messages import upload_from_json, verdict_from_json, verdict_to_json
from bestarm.protocol.server import Server
from bestarm.service.view.exports.export import EXPORT
from bestarm.service.view.exports.export_file import LISTS, ExportFile

NEEDED = ("problem", "method", "parameters", "agents", "uploads", "verdict")
UPLOADED = ("agent", "sequence", "tally", "received_at")  # what an upload says in both lists


class ExportObject:
    """An export that is in memory already, with what `ExportFile` has."""

    def __init__(self, export: object) -> None:
        whole = export if isinstance(export, dict) else {}
        self.lists = {name for name in LISTS if isinstance(whole.get(name), list)}
        self.facts = {key: value for key, value in whole.items() if key not in self.lists}
        self._whole = whole

    def rows(self, name: str) -> Iterator[Any] | None:
        """The elements of a list; None if there is no list of this name."""
        return iter(self._whole[name]) if name in self.lists else None


Export = ExportObject | ExportFile


def verify(export: object) -> Verdict:
    """The verdict that an export's log leads to; a `ServiceError` says where the export disagrees with it."""
    return replay(ExportObject(export)).verdict


def replay(export: Export) -> Server:
    """The server that an export's log leads to, checked at every step against what the export says.

    An export of version 0.1 has no entries, and its log is its uploads; it has no digests either, nor does it
    say where the study was decided. Plans are not made again: what a site was asked for has no part in what its
    data say.
    """
    server = _server(export.facts, export.lists)
    chain = Chain.of(export)
    uploads, verdicts, entries = (export.rows(name) for name in ("uploads", "verdicts", "entries"))
    assert uploads is not None
    for position, row in enumerate(uploads if entries is None else entries, 1):
        what = "upload" if entries is None else "entry"
        try:
            entry = _entry(row, server, Upload.word if entries is None else None)
            if row.get("position") != position:
                raise ServiceError(f"the log is not in order: position {position} is missing.")
            if chain is None:
                server.append(entry)
            else:
                chain.check(position, row)
                server.append_decided(entry, chain.decision(row))
        except UserError as error:
            raise ServiceError(f"the {what} at position {position} can't be right: {error}") from None
        if not isinstance(entry, Upload):
            continue
        place = server.uploads
        if entries is not None and not _same(next(uploads, None), row, place):
            raise ServiceError(f"the upload at position {place} is not the one in the log.")
        if verdicts is not None:
            _compare(f"at position {place}", next(verdicts, None), server.verdict)
    for name, rest in (("uploads", uploads), ("verdicts", verdicts)):
        if rest is not None and next(rest, None) is not None:
            raise ServiceError(f"there are more {name} than uploads in the log.")
    if chain is not None:
        chain.end(export.facts)
    _compare("at the end", export.facts["verdict"], server.verdict)
    return server


class Chain:
    """The digests of an export, followed from its charter to its last entry."""

    def __init__(self, begin: str) -> None:
        self.digest, self.length = begin, 0

    @classmethod
    def of(cls, export: Export) -> Chain | None:
        """The chain before the first entry; None for an export of a version that had none."""
        versions, facts = export.facts.get("versions"), export.facts
        if versions is None and "digest" not in facts:
            first = next(export.rows("entries") or iter(()), None)
            if not isinstance(first, dict) or "digest" not in first:
                return None
        known = versions.get("export") if isinstance(versions, dict) else None
        if known != EXPORT:
            raise UserError(
                f"export: its format has the version {known!r}, and this bestarm knows {EXPORT}; verify it "
                "with the bestarm that wrote it, or a newer one."
            )
        if not isinstance(facts.get("digest"), str) or "entries" not in export.lists:
            raise ServiceError("it has no digest or no entries, which every export of its version has.")
        about = facts["problem"], facts["method"], facts["parameters"], facts["agents"]
        return cls(charter(*about))

    def check(self, position: int, row: Mapping[str, Any]) -> None:
        """One more entry: what it says must be what its digest was made of."""
        kind, decision = str(row["kind"]), row.get("decision")
        body = body_in(row, "id" in ENTRIES[kind].__slots__)
        said = None if decision is None else CANONICAL.encode(decision)
        self.digest = link(self.digest, position, kind, str(row.get("received_at")), said, body)
        self.length = position
        if row.get("digest") != self.digest:
            before = "the charter" if position == 1 else f"the entry at position {position - 1}"
            raise ServiceError(
                f"the entry at position {position} was changed, or does not follow {before}: its digest is "
                "another."
            )

    @staticmethod
    def decision(row: Mapping[str, Any]) -> Verdict | None:
        """The verdict, if the study was decided at this entry."""
        return None if row.get("decision") is None else verdict_from_json(row["decision"])

    def end(self, facts: Mapping[str, Any]) -> None:
        """Whether the log ends where the export says."""
        if (facts.get("length"), facts["digest"]) != (self.length, self.digest):
            raise ServiceError(
                f"the log ends after position {self.length}, and the export says {facts.get('length')!r}: "
                "entries are missing at the end, or there are too many."
            )


def _server(facts: Mapping[str, Any], lists: set[str]) -> Server:
    """The server before the first entry."""
    if any(key not in facts and key not in lists for key in NEEDED):
        raise UserError(f"export: it must be an object with {', '.join(NEEDED)}, as `study export` writes it.")
    if any(name in facts for name in LISTS):
        raise UserError(f"export: {' and '.join(LISTS)} must be lists.")
    if not isinstance(facts["method"], str) or facts["method"] not in METHODS:
        raise UserError(f"export: its method is {facts['method']!r}, which this bestarm does not know.")
    parameters = facts["parameters"]
    if not isinstance(parameters, dict) or parameters.keys() & {"name", "problem", "agents"}:
        raise UserError("export: parameters must be an object of name: value.")
    problem = Problem.from_dict(facts["problem"])
    return Server(method(facts["method"], problem, facts["agents"], **parameters))


def _entry(row: Any, server: Server, known: str | None) -> Entry:
    """An entry as an export has it; its kind may be known."""
    if not isinstance(row, dict):
        raise UserError(f"it is {row!r}.")
    kind = known or str(row.get("kind"))
    if kind == Upload.word:
        body = {"problem": server.terms.fingerprint} | {
            key: row.get(key) for key in ("agent", "sequence", "tally")
        }
        return upload_from_json(body, server.terms, server.arms)
    if kind not in ENTRIES:
        raise UserError(f"its kind is {kind!r}, which this bestarm does not know.")
    try:
        return entry_from(kind, {key: row[key] for key in ENTRIES[kind].__slots__ if key in row}, server.arms)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise UserError(f"it is no entry: {error}.") from None


def _same(listed: Any, row: Mapping[str, Any], place: int) -> bool:
    """Whether an upload in the list of uploads is the one in the log."""
    if not isinstance(listed, dict) or listed.get("position") != place:
        return False
    return all(listed.get(key) == row.get(key) for key in UPLOADED)


def _compare(where: str, given: object, replayed: Verdict) -> None:
    """Names, decisions and counts must be the same, numbers within the tolerance."""
    expected = verdict_to_json(replayed)
    if isinstance(given, dict) and "reason" not in given:  # as the first version wrote it
        del expected["reason"]
    try:
        said = agree(verdict_from_json(given), replayed) and isinstance(given, dict) and given
    except UserError:
        said = False
    numbers = {key: expected[key] for key in ("breaking_index", "evidence")}
    if not said or json.dumps(said | numbers, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise ServiceError(
            f"the verdict {where} is {json.dumps(given)}; the log leads to {json.dumps(expected)}."
        )
