"""`bestarm study arm, correct, close, reopen, log`: what a coordinator does to a study, and what was done."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from bestarm.cli.output import Format, make_table, number, print_json, print_table
from bestarm.cli.server import Name, Output, at_server, place
from bestarm.client.server.connection import Connection, Settings
from bestarm.client.sheets import worksheet

app = typer.Typer(rich_markup_mode=None, add_completion=False)
arms = typer.Typer(
    rich_markup_mode=None, add_completion=False, no_args_is_help=True, help="Arms that come and go."
)
app.add_typer(arms, name="arm")

Reason = Annotated[str, typer.Option(help="Why, for the log.", show_default=False)]


@arms.command(
    epilog="""\b
Examples:
  bestarm study arm add ligands RuPhos --reason "arrived today"
  bestarm study arm add ligands RuPhos --features 0.2,0.7,0.1
"""
)
@at_server
def add(
    settings: Settings,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study.")],
    arm: Annotated[str, typer.Argument(metavar="ARM", help="The new arm.")],
    features: Annotated[
        str | None, typer.Option(metavar="0.2,0.7", help="Its features, where the arms have some.")
    ] = None,
    reason: Reason = "",
    output: Output = Format.table,
) -> None:
    """Add an arm to a study that goes on; it is tried from the next plans on.

    Nothing that is known about the others is lost. Tests that count their arms at the beginning refuse it.
    """
    body: dict[str, Any] = {"arm": arm, "reason": reason}
    if features is not None:
        body["features"] = [worksheet.number(cell) for cell in features.split(",")]
    _change(settings, name, "arms", body, output)


@arms.command(
    epilog="""\b
Example:
  bestarm study arm withdraw ligands XPhos --reason "no longer sold"
"""
)
@at_server
def withdraw(
    settings: Settings,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study.")],
    arm: Annotated[str, typer.Argument(metavar="ARM", help="The arm.")],
    reason: Annotated[str, typer.Option(help="Why: anything but its rewards.", show_default=False)] = "",
    output: Output = Format.table,
) -> None:
    """Take an arm out of a study, as if it had never been there; for good.

    The reason must not be its rewards: an arm that looks bad is ruled out by itself, with a promise. Sites take
    back its open trials when they are next in contact.
    """
    _change(settings, name, "arms/withdraw", {"arm": arm, "reason": reason}, output)


@app.command(
    epilog="""\b
Example:
  bestarm study log ligands
  bestarm study correct ligands lab-a 7 --counts right.csv --reason "columns were swapped"
"""
)
@at_server
def correct(
    settings: Settings,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study.")],
    site: Annotated[str, typer.Argument(metavar="SITE", help="Whose batch.")],
    batch: Annotated[int, typer.Argument(metavar="BATCH", min=1, help="Its number; `study log` has it.")],
    counts: Annotated[
        Path,
        typer.Option(
            metavar="right.csv", help="What the whole batch should have said: arm,pulls,sum[,squares]."
        ),
    ],
    reason: Reason = "",
    output: Output = Format.table,
) -> None:
    """Correct a batch for a site that can't do it itself; sites use `bestarm correct`.

    The log is read again with the right numbers. Once the study is over its verdict stays, and it is said what
    the answer would be now.
    """
    rows, _ = worksheet.read_counts(counts)
    body = {"agent": site, "sequence": batch, "counts": rows, "reason": reason}
    _change(settings, name, "corrections", body, output)


@app.command()
@at_server
def close(
    settings: Settings,
    name: Name = None,
    reason: Reason = "",
    output: Output = Format.table,
) -> None:
    """Take no more joins and uploads, and say what can be said; the study stays readable.

    The promise does not depend on when or why a study is closed. What sites have not sent stays with them.
    """
    _set_state(name, "close", reason, settings, output)


@app.command()
@at_server
def reopen(
    settings: Settings,
    name: Name = None,
    reason: Reason = "",
    output: Output = Format.table,
) -> None:
    """Take joins and uploads again."""
    _set_state(name, "reopen", reason, settings, output)


@app.command()
@at_server
def restored(
    settings: Settings,
    name: Name = None,
    reason: Reason = "",
    output: Output = Format.table,
) -> None:
    """Say, once, that the server's log was put back from a backup: sites send again what it has lost.

    Until then a site whose uploads are gone is refused. Nothing is counted twice, and what sites send comes in
    the order in which they had sent it.
    """
    with Connection.to(settings) as connection:
        found = connection.call("POST", f"{place(settings, name)}/restored", {"reason": reason})
    if output is Format.json:
        print_json(found)
    else:
        print_table(found["sentence"])


@app.command("log")
@at_server
def entries(
    settings: Settings,
    name: Name = None,
    last: Annotated[int, typer.Option(min=1, max=1000, help="How many entries.")] = 20,
    output: Output = Format.table,
) -> None:
    """What happened last in a study: batches, corrections, arms, closing, with who did it."""
    with Connection.to(settings) as connection:
        found = connection.call("GET", f"{place(settings, name)}/log?last={last}")
    if output is Format.json:
        print_json(found)
        return
    length, shown = found["length"], len(found["entries"])
    title = (
        f"All {number(length)} entries" if shown == length else f"The last {shown} of {number(length)} entries"
    )
    table = make_table("entry", "when", "what", "by", title=title)
    for column in table.columns[1:]:
        column.justify = "left"
    for one in found["entries"]:
        table.add_row(str(one["position"]), one["received_at"], one["sentence"], one["by"] or "")
    print_table(table if found["entries"] else "Nothing has happened yet.")


def _change(settings: Settings, name: str, what: str, body: dict[str, Any], output: Format) -> None:
    with Connection.to(settings) as connection:
        found = connection.call("POST", f"{place(settings, name)}/{what}", body | {"id": secrets.token_hex(8)})
    if output is Format.json:
        print_json(found)
        return
    print_table(found["sentence"])


def _set_state(name: str | None, verb: str, reason: str, settings: Settings, output: Format) -> None:
    with Connection.to(settings) as connection:
        found = connection.call("POST", f"{place(settings, name)}/{verb}", {"reason": reason})
    if output is Format.json:
        print_json(found)
        return
    said = [] if found["end"] is None else [found["end"]["said"]]
    print_table(f"Study {found['study']} is {found['state']}.", *said)
