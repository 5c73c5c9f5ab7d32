"""`bestarm study`: list, show, export, verify, rename, archive; `create.py` and `changes.py` have the rest."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bestarm.cli.coordinator import changes
from bestarm.cli.coordinator.create import EXAMPLES, create
from bestarm.cli.coordinator.verify import EXAMPLES as VERIFY
from bestarm.cli.coordinator.verify import verify
from bestarm.cli.output import Format, for_terminal, make_table, number, print_json, print_table
from bestarm.cli.progress import saying_after_a_while
from bestarm.cli.server import Name, Output, at_server, place
from bestarm.client.server.connection import Connection, Settings
from bestarm.shown import arm_columns, headline, limits, share
from bestarm.whole_file import write_whole

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Studies, on a server or without one.",
)


class ExportFormat(StrEnum):
    """What an export is written as."""

    json = "json"
    csv = "csv"


app.command(epilog=EXAMPLES)(create)


@app.command("list")
@at_server
def every(
    settings: Settings,
    archived: Annotated[bool, typer.Option("--all", help="Those that are archived, too.")] = False,
    output: Output = Format.table,
) -> None:
    """List the studies that the token may see."""
    with Connection.to(settings) as connection:
        found = connection.call("GET", f"/v1/studies{'?archived=true' if archived else ''}")
    if output is Format.json:
        print_json(found)
        return
    table = make_table("study", "state", "method", "samples", "uploads", "evidence", "leader")
    for row in found["studies"]:
        verdict = row["verdict"]
        table.add_row(
            row["study"],
            row["state"] + (", archived" if row["archived"] else ""),
            row["method"],
            number(row["samples"]),
            number(row["uploads"]),
            share(verdict["evidence"]),
            verdict["leader"] if row["uploads"] else "–",
        )
    print_table(table if found["studies"] else "There are no studies yet; `bestarm study create` makes one.")


@app.command()
@at_server
def show(
    settings: Settings,
    name: Name = None,
    output: Output = Format.table,
) -> None:
    """Show where a study stands: its verdict, what speaks against each arm, its sites, and what is odd."""
    with Connection.to(settings) as connection:
        found = connection.call("GET", f"{place(settings, name)}/status")
    if output is Format.json:
        print_json(found)
        return
    arms = arm_table(found)
    sites = make_table("site", "samples", "uploads", "last seen")
    for site in found["sites"]:
        seen = site["last_seen"] + (" (stale)" if site["stale"] else "")
        sites.add_row(site["agent"], number(site["samples"]), number(site["uploads"]), seen)
    said: list[Table | str] = []
    said += [f"{arm['name']}: {arm['description']}" for arm in found["problem"]["arm"] if "description" in arm]
    said += [one["sentence"] for one in found["differences"][:1]]
    odd = [f"Warning: {one['sentence']}" for one in found["warnings"]]
    happened = [f"{one['at']}  {one['sentence']}" for one in found["events"][:5]]
    below = [*said, *([sites] if found["sites"] else []), *happened]
    print_table(headline(found), *limits(found), *odd, "", found["promise"], arms, *below)


def arm_table(found: dict[str, Any]) -> Table:
    """Every arm, the best first: its interval, or where sites differ its difference and the odds against it."""
    shown = arm_columns(found)
    arms = make_table(*shown.heads)
    for row in shown.rows:
        arms.add_row(*row)
    return arms


@app.command(
    epilog="""\b
Examples:
  bestarm study export ligands --out ligands.json
  bestarm study export ligands --format csv
"""
)
@at_server
def export(
    settings: Settings,
    name: Name = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
    output: Annotated[ExportFormat, typer.Option("--format", help="json can be verified.")] = ExportFormat.json,
) -> None:
    """Write a study's whole log: the problem, every upload, and the verdict."""
    with Connection.to(settings) as connection:
        pieces = connection.stream(f"{place(settings, name)}/export?format={output}")
        if out is not None:
            write_whole(out, pieces)
            return
        last = b""
        for piece in pieces:
            if sys.stdout.isatty():
                piece = for_terminal(piece.decode(errors="replace")).encode()
            sys.stdout.buffer.write(piece)
            last = piece or last
        sys.stdout.buffer.write(b"" if last.endswith(b"\n") else b"\n")
        sys.stdout.flush()


@app.command(
    epilog="""\b
Examples:
  bestarm study report ligands
  bestarm study report ligands --out ligands.html
"""
)
@at_server
def report(
    settings: Settings,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    output: Output = Format.table,
) -> None:
    """Write one HTML page for the lab book: question, answer, promise, pictures and tables."""
    slow = "writing the report; a long log is looked at from its beginning …"
    with Connection.to(settings) as connection, saying_after_a_while(slow):
        write_whole(out, connection.stream(f"{place(settings, name)}/report"))
    if output is Format.json:
        print_json({"study": name or settings.need("study"), "file": str(out)})
    elif out.is_file():
        print_table(f"The report is in {out}.")


app.command(epilog=VERIFY)(verify)


@app.command(
    epilog="""\b
Example:
  bestarm study rename ligands ligands-2027

Sites, tokens and links go on under the old name: it leads to the study for ever, and no other one can have it.
"""
)
@at_server
def rename(
    settings: Settings,
    old: Annotated[str, typer.Argument(help="What the study is called, or was.")],
    new: Annotated[str, typer.Argument(help="What it is to be called.")],
    output: Output = Format.table,
) -> None:
    """Call a study otherwise; nothing else changes, and no site notices."""
    with Connection.to(settings) as connection:
        found = connection.call("POST", f"{place(settings, old)}/rename", {"name": new})
    if output is Format.json:
        print_json(found)
    else:
        print_table(f"Study {old} is called {found['study']} now; {old} goes on leading to it.")


@app.command()
@at_server
def archive(
    settings: Settings,
    name: Name = None,
    output: Output = Format.table,
) -> None:
    """Leave a study out of the lists; it stays readable, and an open one goes on taking uploads."""
    _set_archived(name, "archive", settings, output)


@app.command()
@at_server
def unarchive(
    settings: Settings,
    name: Name = None,
    output: Output = Format.table,
) -> None:
    """Put a study into the lists again."""
    _set_archived(name, "unarchive", settings, output)


def _set_archived(name: str | None, verb: str, settings: Settings, output: Format) -> None:
    with Connection.to(settings) as connection:
        found = connection.call("POST", f"{place(settings, name)}/{verb}", {})
    if output is Format.json:
        print_json(found)
        return
    goes_on = f"; it is still {found['state']}" if found["archived"] and found["state"] == "open" else ""
    print_table(f"Study {found['study']} is {'' if found['archived'] else 'not '}archived{goes_on}.")


app.registered_commands += changes.app.registered_commands
app.registered_groups += changes.app.registered_groups
