"""States that are kept, so that nobody has to read a whole log: checked against the log, or thrown away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from bestarm.core.tally import Tally
from bestarm.methods.composed import Method
from bestarm.methods.registry import records_of
from bestarm.protocol.messages import ProtocolError
from bestarm.service.storage.kept.packing import unpack
from bestarm.service.storage.rows.log import OF_STUDY, Read
from bestarm.service.storage.rows.tables import entries, snapshots
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.looking import Looker
from bestarm.service.storage.study.overview import Charter

FORMAT = 2
STATE, LOOK, TOTAL = "state", "look", "total"
ENTRIES = 1_000  # after so many a state is kept,
SECONDS = 0.3  # or after so much time has gone into entries
ENOUGH = 0.1  # so much of that is enough when a storage is closed
TOTALS = 250  # after so many entries a total is kept, where it is sent
OF_KIND = (snapshots.c.study_id == bindparam("study")) & (snapshots.c.kind == bindparam("what"))
LAST = snapshots.select().where(OF_KIND).order_by(snapshots.c.position.desc()).limit(1)
UP_TO = LAST.where(snapshots.c.position <= bindparam("upto"))
DIGEST = select(entries.c.digest).where(OF_STUDY, entries.c.position == bindparam("position"))


@cache
def _sources() -> str:
    """A short hash of all that a state may depend on."""
    from bestarm.simulation.compiled.sources import code_version

    return f"{FORMAT}-{code_version()}-{code_version(('service',))[-12:]}"


def version(method: Method) -> str:
    """Of the code that folds for this method, rules from elsewhere included."""
    from bestarm.simulation.compiled.sources import outside_version

    return f"{_sources()}-{outside_version(records_of(method.name, method.parameters))}"


def is_due(ledger: Ledger, at_the_end: bool = False) -> bool:
    """Whether so much has come since a state was kept that it should be again; at the end less is enough."""
    new, share = ledger.length - ledger.kept_at, ENOUGH if at_the_end else 1.0
    changed = ledger.changed_at > ledger.kept_at and new > 0
    if new >= share * ENTRIES or ledger.seconds >= share * SECONDS or changed:
        return ledger.length > 1
    return ledger.study.method.recipe.sends_total and new >= max(TOTALS, len(ledger.server.arms) // 4)


def row_of(ledger: Ledger, kind: str, position: int, data: bytes) -> dict[str, Any]:
    """A row of the table, for a ledger as it is now."""
    return row_at(ledger.study, kind, position, ledger.digest, data)


def row_at(study: Charter, kind: str, position: int, digest: str, data: bytes) -> dict[str, Any]:
    """A row of the table, tied to the entry at a position."""
    return {
        "study_id": study.id,
        "kind": kind,
        "position": position,
        "digest": digest,
        "version": version(study.method),
        "data": data,
    }


def about(row: Mapping[str, Any]) -> str:
    """What the bytes of a row are about: everything else in it, so that none of it is changed by itself."""
    return json.dumps([row[name] for name in ("study_id", "kind", "position", "digest", "version")])


def write(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Keep them; of states and looks only the last is of any use."""
    for row in rows:
        same = (snapshots.c.study_id == row["study_id"]) & (snapshots.c.kind == row["kind"])
        if row["kind"] == TOTAL:
            same &= snapshots.c.position == row["position"]
        connection.execute(snapshots.delete().where(same))
        connection.execute(snapshots.insert().values(**row))


def read_ledger(read: Read, study: Charter) -> Ledger | None:
    """The state that was kept last, if it fits the log and this code."""
    values = _fitting(read, study, read(LAST, {"study": study.id, "what": STATE}))
    try:
        return None if values is None else Ledger.thaw(study, values)
    except (LookupError, TypeError, ValueError, ProtocolError, AssertionError):
        return None


def read_look(read: Read, study: Charter, method: Method, changed_at: int) -> Looker:
    """What was looked at before, if it fits; else one that begins."""
    looker = Looker()
    values = _fitting(read, study, read(LAST, {"study": study.id, "what": LOOK}))
    if values is not None and values["changed_at"] == changed_at:
        looker.thaw(method, values)
    return looker


def read_total(read: Read, ledger: Ledger, place: int, since: int) -> tuple[int, Tally] | None:
    """The last total that was kept before an entry, and not before the position `since`; and its position."""
    study = ledger.study
    rows = read(UP_TO, {"study": study.id, "what": TOTAL, "upto": place + 1})
    values = _fitting(read, study, rows)
    if values is None or rows[0].position < since:
        return None
    columns = [values[name].tolist() for name in ("pulls", "sums", "squares")]
    if not study.method.squares:
        columns.pop()
    return rows[0].position, Tally.of(*columns)


def _fitting(read: Read, study: Charter, rows: list[Any]) -> dict[str, Any] | None:
    """What a row holds, if it was made by this code and the log still has the entry that it ends with."""
    if not rows or rows[0].version != version(study.method):
        return None
    found = read(DIGEST, {"study": study.id, "position": rows[0].position})
    if not found or found[0][0] != rows[0].digest:
        return None
    try:
        values = unpack(rows[0].data, about(rows[0]._mapping))
    except (ValueError, LookupError, TypeError):
        return None
    return values if isinstance(values, dict) else None
