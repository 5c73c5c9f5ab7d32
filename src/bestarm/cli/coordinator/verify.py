"""`bestarm study verify`: whether an export, or the log of a study on a server, is what was written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestarm.cli.output import Format, count, print_json, print_table
from bestarm.cli.server import Journal, Output, Study, Token, Url, place
from bestarm.client.server.connection import Connection, Settings, resolve
from bestarm.errors import ServiceError, UserError
from bestarm.whole_file import write_whole

if TYPE_CHECKING:
    from bestarm.service.view.exports.export_file import ExportFile

EXAMPLES = """\b
Examples:
  bestarm study verify ligands.json
  bestarm study verify ligands --url sqlite:///bestarm.db
  bestarm study verify ligands.json --against ligands
"""


def verify(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="export.json|NAME",
            help="What `study export` wrote, or a study on the server or in the storage; left out, --study.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The study whose log must still begin as the export does."),
    ] = None,
    url: Url = None,
    token: Token = None,
    study: Study = None,
    journal: Journal = None,
    output: Output = Format.table,
) -> None:
    """Check that no entry of a log was changed, left out or put in, and recompute every verdict from it.

    Of a file it needs no server. The study may still be open. Exit code 1 if anything differs.
    """
    from bestarm.protocol.messages import verdict_to_json

    file = None if what is None else Path(what)
    if file is not None and (file.exists() or file.suffix == ".json"):
        digests, uploads, verdict = _check(_read(file), what or "")
    elif against is not None:
        raise UserError("--against compares a file with a study; name the file first.")
    else:
        settings = resolve(url, token, study)
        what = f"study {what or settings.need('study')}"
        with tempfile.TemporaryDirectory() as folder:
            digests, uploads, verdict = _check(_fetched(settings, what[6:], Path(folder)), what)
    if against is not None:
        with tempfile.TemporaryDirectory() as folder:
            _compare(digests, _fetched(resolve(url, token, study), against, Path(folder)), what or "", against)
    if output is Format.json:
        said = {"verified": True, "uploads": uploads, "verdict": verdict_to_json(verdict)}
        print_json(said | {"entries": len(digests), "digest": digests[-1] if digests else None})
        return
    leads = f"{verdict.leader} leads, not settled yet" if uploads else "nobody leads yet"
    answer = f"the answer is {verdict.arm}" if verdict.stopped else leads
    chain = f"{_entries(digests)} unchanged, " if digests else ""
    print_table(f"{what} holds: {chain}{count(uploads, 'upload')} replayed, {answer}.")
    if against is not None:
        print_table(f"Study {against} begins with the same {_entries(digests)}.")


def _read(file: Path) -> ExportFile:
    from bestarm.problem.file import naming
    from bestarm.service.view.exports.export_file import ExportFile

    with naming(str(file)):
        return ExportFile(file)


def _fetched(settings: Settings, name: str, folder: Path) -> ExportFile:
    """The export of a study, as it is now."""
    with Connection.to(settings) as connection:
        write_whole(folder / "export.json", connection.stream(f"{place(settings, name)}/export?format=json"))
    return _read(folder / "export.json")


def _check(export: ExportFile, what: str) -> tuple[list[str], int, Any]:
    """The digests of its entries, how many uploads it has, and its verdict."""
    from bestarm.service.view.exports.verify import replay

    try:
        server = replay(export)
    except ServiceError as error:
        raise ServiceError(f"{what} does not hold: {error}") from None
    return _digests(export), server.uploads, server.verdict


def _digests(export: ExportFile) -> list[str]:
    return [row["digest"] for row in export.rows("entries") or () if "digest" in row]


def _compare(digests: list[str], now: ExportFile, what: str, against: str) -> None:
    """Whether a log still begins with these entries; it may have gained others."""
    _check(now, f"study {against}")
    found = _digests(now)
    if not digests:
        raise UserError(f"{what} has no digests: an older bestarm wrote it. Export the study again.")
    for position, digest in enumerate(digests, 1):
        if position > len(found):
            raise ServiceError(
                f"study {against} has {_entries(found)}, and {what} has {len(digests):,}: the last are gone."
            )
        if found[position - 1] != digest:
            raise ServiceError(f"study {against} has another entry at position {position} than {what}.")


def _entries(digests: list[str]) -> str:
    return f"{len(digests):,} entr{'y' if len(digests) == 1 else 'ies'}"
