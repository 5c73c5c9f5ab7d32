"""`bestarm ask, tell, give-back, leave, status, sync`: a site in the shell, with its journal in the folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bestarm.cli.output import Format, count, make_table, print_json, print_table, say
from bestarm.client import worksheet
from bestarm.client.connection import resolve
from bestarm.client.journal import JournalError
from bestarm.client.lab import JOURNAL, Lab, connect
from bestarm.errors import Refused, ServiceError, UserError
from bestarm.protocol.messages import Trial, trial_to_json, verdict_from_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HURRY = 3.0  # seconds that `ask` gives a server to say that the study is finished
Wait = Annotated[float, typer.Option(min=0.0, help="Seconds to keep trying while the server is away.")]
OPTIONS: dict[str, Any] = {
    "url": Annotated[str | None, typer.Option(help="The server; or BESTARM_URL, or url in bestarm.toml.")],
    "token": Annotated[str | None, typer.Option(help="This site's token; or BESTARM_TOKEN.")],
    "study": Annotated[str | None, typer.Option(help="The study; or BESTARM_STUDY, or what the token is for.")],
    "journal": Annotated[
        str | None, typer.Option(help=f"This site's memory; or BESTARM_JOURNAL.  [default: {JOURNAL}]")
    ],
}


def at_site(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first argument is a `Lab`: it gets the options that say which one, and closes it."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in OPTIONS.items()]

    @wraps(command)
    def called(**values: Any) -> None:
        settings = resolve(**{name: values.pop(name) for name in OPTIONS})
        lab = connect(
            settings.need("url"),
            token=settings.need("token"),
            study=settings.study,
            journal=settings.journal or JOURNAL,
            wait=values.get("wait", 0.0),
            resume=False,  # two `ask` in a row mean two sets of trials; `ask --again` shows the open ones
            waiting=lambda reason, pause: say(f"waiting {pause:.1f} s: {reason}"),
        )
        with lab:
            command(lab, **values)

    signature = inspect.Signature([*(parameter.replace(kind=keyword) for parameter in own), *shared])
    vars(called)["__signature__"] = signature
    return called


Output = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]


@app.command(
    epilog="""\b
Examples:
  bestarm ask -n 8
  bestarm ask -n 24 --worksheet plate7.csv
  bestarm ask --again                        # what is open, once more
"""
)
@at_site
def ask(
    lab: Lab,
    n: Annotated[int, typer.Option("-n", min=1, help="How many, if the plan still has as many.")] = 1,
    sheet: Annotated[
        Path | None,
        typer.Option("--worksheet", metavar="sheet.csv", help="Write them to a new table."),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(metavar="items.txt", help="This site's own items, one a line; the journal keeps them."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="The open trials once more, and no new ones.")] = False,
    wait: Wait = 0.0,
    output: Output = Format.table,
) -> None:
    """Which experiments to do next. Every call hands out other trials, and none is ever handed out twice.

    As long as the site's plan lasts this needs no server; one that answers may say that the study is finished.
    """
    if sheet is not None:
        worksheet.check_new(sheet)
    if items is not None:
        lab.keep_items(items)
    if not again:
        look_for_the_end(lab)
    trials = lab.open if again else lab.ask(n, wait)
    if sheet is not None and trials:
        worksheet.write(sheet, trials, lab.terms, lab.site)
        fewer = "" if again or lab.terms.items or len(trials) == n else ", all that the plan still has"
        written = f"{count(len(trials), 'trial')} in {sheet}{fewer}"
        say(f"{written}; fill in the rewards, then bestarm tell --worksheet {sheet}.")
        for sentence in said_now(lab):
            say(sentence)
    if output is Format.json:
        print_json([trial_to_json(trial) for trial in trials])
    elif trials and sheet is None:
        print_table(lab.terms.aim, trial_table(list(map(trial_to_json, trials))))
    if not again and (sentence := whole_items(lab, trials, n)):
        say(sentence)
    if lab.finished:
        say(outlook(lab))
    elif again and not trials:
        say("no trial is open.")
    elif not trials:
        raise ServiceError(f"no trials now: {lab.waiting_for}")


@app.command(
    context_settings={"ignore_unknown_options": True},  # so that -0.5 is a reward
    epilog="""\b
Examples:
  bestarm tell 17 0.73
  bestarm tell --worksheet plate7.csv
  bestarm tell --counts monday.csv           # arm,pulls,sum
""",
)
@at_site
def tell(
    lab: Lab,
    trial: Annotated[str | None, typer.Argument(help="The trial's number.", show_default=False)] = None,
    reward: Annotated[str | None, typer.Argument(help="What came out of it.", show_default=False)] = None,
    sheet: Annotated[
        Path | None, typer.Option("--worksheet", metavar="sheet.csv", help="A table with rewards filled in.")
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(metavar="day.csv", help="A batch that was added up elsewhere: arm,pulls,sum[,squares]."),
    ] = None,
    output: Output = Format.table,
) -> None:
    """What came out of an experiment, or of all those that a worksheet has rewards for.

    A worksheet may be half filled, and it may be told again: what is known already changes nothing. A line that
    can't be used is refused by its number, and the others are taken.
    """
    if [sheet, counts, trial].count(None) != 2 or (trial is None) != (reward is None):
        raise UserError("tell takes a trial and its reward, or --worksheet or --counts with a file.")
    known, refused, uploads = [], [], lab.agent.sequence
    if counts is not None:
        rows, name = worksheet.read_counts(counts)
        new = lab.tell_counts(rows, name)
        did = f"{count(len(rows), 'arm')} counted." if new else f"{counts} was told before, and counts once."
        report(lab, output, f"{did} {outlook(lab, uploads)}")
        return
    if trial is not None and reward is not None:
        if not worksheet.TRIAL.fullmatch(trial):
            raise UserError(f"trial is {trial[:40]!r}; it must be the whole number that was handed out.")
        known.append(lab.tell(int(trial), worksheet.number(reward)))
    for row in worksheet.read(sheet) if sheet is not None else []:
        try:
            if row.refusal:
                raise UserError(row.refusal)
            if row.site not in ("", lab.site):
                raise UserError(f"it is a trial of {row.site}, and this is {lab.site}.")
            known.append(lab.tell(Trial(row.trial, row.arm, row.item or None), row.reward))
        except UserError as error:
            refused.append({"line": row.line, "error": str(error)})
    told, before = known.count(True), known.count(False)
    if output is Format.json:
        print_json({"told": told, "known": before, "refused": refused, "site": lab.status()})
    else:
        passed = f" ({before} known already)" if before else ""
        did = f"{count(told, 'reward')} told{passed}." if known or refused else f"{sheet} has no rewards yet."
        print_table(f"{did} {outlook(lab, uploads)}")
    for line in refused:
        say(f"{sheet}, line {line['line']}: {line['error']}")
    if refused:
        raise typer.Exit(1)


@app.command("give-back")
@at_site
def give_back(
    lab: Lab,
    trial: Annotated[int, typer.Argument(help="The trial's number.")],
    output: Output = Format.table,
) -> None:
    """An experiment failed or can't be done: its place in the plan is handed out again, as a new trial.

    This is harmless when the reason has nothing to do with its reward.
    """
    lab.give_back(trial)
    report(lab, output, f"Trial {trial} is given back. {outlook(lab)}")


@app.command()
@at_site
def leave(lab: Lab, wait: Wait = 0.0, output: Output = Format.table) -> None:
    """Send what there is so far, although the plan is not full; open trials are dropped.

    This is harmless when the reason has nothing to do with the rewards that were not sent yet: the shift is
    over, the material is used up, the site closes. It is not harmless to leave because they look good or bad.
    """
    dropped = len(lab.open)
    sent = lab.leave(wait)
    drop = f" {count(dropped, 'open trial')} can't be told any more." if sent and dropped else ""
    report(lab, output, f"What there was is sent.{drop}" if sent else "There was nothing to send.")


@app.command()
@at_site
def sync(lab: Lab, wait: Wait = 0.0, output: Output = Format.table) -> None:
    """Send what is complete and fetch what is new."""
    lab.sync(wait)
    report(lab, output, outlook(lab))


@app.command()
@at_site
def status(lab: Lab, output: Output = Format.table) -> None:
    """Where the study and this site stand; if the server is away, this site alone."""
    try:
        study: dict[str, Any] | None = lab.study()
    except ServiceError as error:
        study = None
        say(str(error))
    if output is Format.json:
        print_json(lab.status() | {"server": study})
        return
    site = lab.status()
    print_table(f"Study {site['study']}, agent {site['agent']}: {count(site['uploads'], 'upload')} so far.")
    print_table(outlook(lab))
    if site["open"]:
        print_table(trial_table(site["open"], "Open trials"))
    if study is not None and not lab.finished:
        verdict = verdict_from_json(study["verdict"])
        print_table(f"All sites, {count(study['uploads'], 'upload')}: {verdict}")
        if study["standing"]["error"] is not None:
            print_table(study["standing"]["sentence"])
        print_table(study["test"])
        for one in study["warnings"]:
            print_table(f"Warning: {one['sentence']}")
        if verdict.stopped:
            print_table("Nothing more has to be measured; `bestarm sync` tells this site's journal.")


def look_for_the_end(lab: Lab) -> None:
    """No trial is worth doing once the study is finished; a server that is away is not waited for."""
    if lab.finished:
        return
    try:
        with lab.connection.in_a_hurry(HURRY):
            lab.sync()
    except Refused as error:
        say(str(error))
    except JournalError:
        raise
    except ServiceError:
        pass


def said_now(lab: Lab) -> list[str]:
    """What can be said now about the arms, for whoever makes a worksheet; nothing if the server is away."""
    try:
        with lab.connection.in_a_hurry(HURRY):
            standing = lab.standing
    except (Refused, ServiceError):
        return []
    return [] if standing["error"] is None else [standing["sentence"]]


def trial_table(trials: Sequence[Mapping[str, Any]], title: str | None = None) -> Table:
    """Numbers to the right, names to the left."""
    columns = [name for name in ("trial", "item", "arm") if name in trials[0]]
    table = make_table(*columns, title=title)
    table.columns[0].justify = "right"
    for column in table.columns[1:]:
        column.justify = "left"
    for trial in trials:
        table.add_row(*(str(trial[name]) for name in columns))
    return table


def whole_items(lab: Lab, trials: Sequence[Trial], n: int) -> str:
    """What to say where trials come by whole items and are not as many as were asked for."""
    if not lab.terms.items or len(trials) == n or not trials:
        return ""
    items, many = count(len({trial.item for trial in trials}), "whole item"), count(len(trials), "trial")
    if len(trials) > n:
        return (
            f"every item is tried with {count(len(lab.agent.plan.arms), 'arm')} now: {items}, {many} for {n}."
        )
    rest = f"no more fit into {n}" if lab.agent.to_hand_out else "all that the plan still has"
    return f"{items}, {many}: {rest}."


def report(lab: Lab, output: Format, sentence: str) -> None:
    """What a command did, for a person; where the site stands, for a program."""
    if output is Format.json:
        print_json(lab.status())
    else:
        print_table(sentence)


def outlook(lab: Lab, uploads: int | None = None) -> str:
    """What comes next at this site, in a sentence or two; `uploads` is how many there were before."""
    site = lab.status()
    if lab.verdict is not None:
        end = f"The study is finished: {lab.verdict.arm} is best, after {lab.verdict.samples:,} samples."
        late = f" {count(site['told'], 'reward')} came later; `bestarm leave` sends them for the record."
        return end + (late if site["told"] else "")
    if site["unsent"]:
        return f"An upload is kept until it can be sent: {lab.waiting_for or '`bestarm sync` sends it.'}"
    sent = uploads is not None and site["uploads"] > uploads
    return (
        f"{'That filled the plan, and it is sent. The next one' if sent else 'The plan'} has "
        f"{count(site['plan'], 'trial')}: {site['told']} told, {len(site['open'])} open, "
        f"{site['to_hand_out']} to be handed out."
    )
