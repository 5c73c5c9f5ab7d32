"""`bestarm correct, history, cannot`: at a site, what was told, what was wrong with it, what can't be done."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from typing import Annotated, Any

import typer

from bestarm.cells import write_cell
from bestarm.cli.lab.at_site import Yes, at_site, trial_number, unless_doubtful
from bestarm.cli.lab.words import outlook, report
from bestarm.cli.output import Format, count, for_terminal, make_table, number, print_json, print_table, say
from bestarm.cli.server import Output
from bestarm.client.history import COLUMNS
from bestarm.client.lab import Lab
from bestarm.client.sheets import worksheet
from bestarm.errors import ServiceError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Written(StrEnum):
    """What a table is printed as."""

    table = "table"
    json = "json"
    csv = "csv"


@app.command(
    context_settings={"ignore_unknown_options": True},  # so that -0.5 is a reward
    epilog="""\b
Examples:
  bestarm correct 17 0.84 --reason "decimal point"
  bestarm correct 17 0.83 0.85 0.84
  bestarm tell --counts monday.csv --correct --reason "a region was missing"
""",
)
@at_site
def correct(
    lab: Lab,
    trial: Annotated[str, typer.Argument(help="The trial's number; `bestarm history` lists them.")],
    reward: Annotated[list[str], typer.Argument(help="What came out of it, or all its measurements.")],
    reason: Annotated[str, typer.Option(help="What was wrong; it stays in the study's log.")] = "",
    yes: Yes = False,
    output: Output = Format.table,
) -> None:
    """A told reward was written down wrongly, and this is the right one.

    As long as its batch was not sent, nobody else hears of it. Afterwards the study is read again with the
    right number, and its log says who corrected what, and why. Once the study is decided the answer stays, and
    you are told what it would be now. This needs no server: the correction waits until there is one.

    Correct what is not what was measured. A number that you do not like is no mistake.
    """
    wanted, measured = trial_number(trial), worksheet.measurements(reward)
    new = unless_doubtful(lambda sure: lab.correct(wanted, measured, reason, sure), yes)
    did = f"Trial {wanted} is corrected." if new else f"Trial {wanted} was told so already."
    waits = lab.status()["corrections"]
    if new and waits:
        did += f" {count(waits, 'correction')} will be sent when the server can be reached."
    report(lab, output, f"{did} {lab.notice or outlook(lab)}" if new else did)


@app.command()
@at_site
def audit(lab: Lab, output: Output = Format.table) -> None:
    """Check that the server's log still has this site's uploads, unchanged; exit code 1 if it has not.

    The journal keeps a receipt of every upload. A server that lost, changed or moved one, or anything that
    stands before it in the log, can't show the same receipt again.
    """
    found = lab.audit()
    if output is Format.json:
        print_json({"holds": found.holds, "uploads": found.uploads, "wrong": list(found.wrong)})
    elif found.holds:
        say(str(found))
    if not found.holds:
        raise ServiceError(str(found))


@app.command()
@at_site
def history(
    lab: Lab,
    written: Annotated[Written, typer.Option("--format", help="For people, or for programs.")] = Written.table,
) -> None:
    """What this site has told, newest last, with what was corrected. It needs no server.

    `batch` is the number of the message that a reward went with; what was not sent yet has none, or is marked.
    """
    rows = lab.history()
    if written is Written.json:
        print_json(rows)
        return
    if written is Written.csv:
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows([write_cell(_cell(row[name])) for name in COLUMNS] for row in rows)
        print(for_terminal(text.getvalue()), end="")
        return
    if not rows:
        say("nothing was told yet.")
        return
    shown = ["trial", "item", "arm", "pulls", "reward", "batch", "state", "told_at"]
    if not any(row["item"] is not None for row in rows):
        shown.remove("item")
    if not any(row["counts"] for row in rows):
        shown.remove("pulls")
    table = make_table(*(name.replace("_", " ") for name in shown), "")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in shown), _remark(row))
    print_table(table)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    return "" if value is None else str(value)


def _remark(row: dict[str, Any]) -> str:
    """What else there is to say of a row: its measurements, and what it was before."""
    parts = []
    if row["counts"]:
        parts.append(str(row["counts"]).split("/")[0])
    if row["measurements"]:
        parts.append(f"mean of {', '.join(map(number, row['measurements']))}")
    if row["was"]:
        why = f" ({row['reason']})" if row["reason"] else ""
        parts.append(f"was {', then '.join(map(_cell, row['was']))}{why}")
    return "; ".join(parts)


@app.command(
    epilog="""\b
Examples:
  bestarm cannot dppf --reason "the bottle is empty"
  bestarm cannot dppf --again
"""
)
@at_site
def cannot(
    lab: Lab,
    arm: Annotated[str, typer.Argument(help="The option that this site can't do.")],
    reason: Annotated[str, typer.Option(help="Why; for whoever reads the status.")] = "",
    again: Annotated[
        bool, typer.Option("--again", help="It can be done again, from the next plan on.")
    ] = False,
    output: Output = Format.table,
) -> None:
    """This site can't do an option: the reagent is used up, the instrument is lent out.

    It holds at once for everything that was not handed out yet, and is remembered. Open trials of the option
    are given back, and what was told of it stays. This is harmless when the reason has nothing to do with its
    results; an option that does badly must not be left out here: the study does that when it is sure.
    """
    if again:
        lab.can_again(arm)
        report(lab, output, f"{arm} can be done again, from the next plan on. {outlook(lab)}")
        return
    back = lab.cannot(arm, reason)
    given = f" {count(back, 'open trial')} of it {'is' if back == 1 else 'are'} given back." if back else ""
    report(lab, output, f"{arm} is not handed out here any more.{given} {outlook(lab)}")
