"""`bestarm ask, tell, give-back, leave, status, sync`: a site in the shell, with its journal in the folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bestarm.cli.lab.at_site import Wait, Yes, at_site, trial_number, unless_doubtful
from bestarm.cli.lab.words import (
    fewer,
    look_for_the_end,
    outlook,
    report,
    said_now,
    traffic,
    trial_table,
    visitors,
    whole_items,
    with_reason,
)
from bestarm.cli.output import Format, count, print_json, print_table, say
from bestarm.cli.server import Output
from bestarm.client.doubt import Doubtful
from bestarm.client.lab import Lab
from bestarm.client.sheets import worksheet
from bestarm.client.split import differs, in_words
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.messages import Trial, trial_to_json, verdict_from_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="""\b
Examples:
  bestarm ask -n 8
  bestarm ask --plate 24 --worksheet plate7.csv      # a whole plate, and so from now on
  bestarm ask -n 24 --worksheet plate8.xlsx          # for a spreadsheet; pip install 'bestarm[excel]'
  bestarm ask -n 96 --worksheet four.csv             # four plates of 24 at once, if that was said before
  bestarm ask --again                        # what is open, once more
"""
)
@at_site
def ask(
    lab: Lab,
    n: Annotated[
        int | None, typer.Option("-n", min=1, help="How many.  [default: 1, or what --plate says]")
    ] = None,
    plate: Annotated[
        int | None,
        typer.Option(min=1, help="Trials that fit on a plate: plans are whole plates. The journal keeps it."),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--worksheet", metavar="sheet.csv", help="Write them to a new table, .csv or, with openpyxl, .xlsx."
        ),
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

    As long as the site's plan lasts this needs no server; one that answers may say that the study is finished,
    and makes the plan as large as what is asked for. Trials come in random order: do them in that order, or
    fill the wells of a plate in it.
    """
    n = n or plate or 1
    if sheet is not None:
        worksheet.check_new(sheet)
    if items is not None:
        lab.keep_items(items)
    if not again:
        look_for_the_end(lab)
    trials = lab.open if again else lab.ask(n, wait)
    if sheet is not None and trials:
        worksheet.write(sheet, trials, lab.terms, lab.site, lab.places(trials))
        written = f"{count(len(trials), 'trial')} in {sheet}"
        say(f"{written}; fill in the rewards, then bestarm tell --worksheet {sheet}.")
        for sentence in said_now(lab):
            say(sentence)
    if output is Format.json:
        print_json([trial_to_json(trial) for trial in trials])
    elif trials and sheet is None:
        told = lab.terms.descriptions
        rows = [trial_to_json(one) | ({"": told.get(one.arm, "")} if told else {}) for one in trials]
        print_table(lab.terms.aim, trial_table(rows))
    if not again and (sentence := whole_items(lab, trials, n) or fewer(lab, trials, n)):
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
  bestarm tell 17 0.72 0.74 0.73             # one trial, measured three times: the mean counts, once
  bestarm tell --worksheet plate7.csv
  bestarm tell --counts monday.csv           # arm,pulls,sum
""",
)
@at_site
def tell(
    lab: Lab,
    trial: Annotated[str | None, typer.Argument(help="The trial's number.", show_default=False)] = None,
    reward: Annotated[
        list[str] | None,
        typer.Argument(
            help="What came out of it; several measurements of the one trial count once, as their mean.",
            show_default=False,
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option("--worksheet", metavar="sheet.csv", help="A table with rewards filled in, .csv or .xlsx."),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(metavar="day.csv", help="A batch that was added up elsewhere: arm,pulls,sum[,squares]."),
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="The file is right, and what was told of it before was not.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why it is corrected; it stays in the study's log.")] = "",
    yes: Yes = False,
    output: Output = Format.table,
) -> None:
    """What came out of an experiment, or of all those that a worksheet has rewards for.

    A worksheet may be half filled, and it may be told again: what is known already changes nothing. A line that
    can't be used is refused by its number, and the others are taken. A number that is far from everything
    before is asked about: look into the notebook. `bestarm correct` changes what was told.
    """
    if [sheet, counts, trial].count(None) != 2 or (trial is None) == bool(reward):
        raise UserError("tell takes a trial and its reward, or --worksheet or --counts with a file.")
    if correct and trial is not None:
        raise UserError("--correct is for a file; for a trial there is `bestarm correct TRIAL REWARD`.")
    if reason and not correct:
        raise UserError("--reason is for --correct; leave it out.")
    known, refused, uploads = [], [], lab.agent.sequence
    if counts is not None:
        split, size = lab.split, lab.agent.plan.size
        did, pulls = told_counts(lab, counts, correct, reason, yes)
        if pulls and split and differs(split, size, pulls):
            did += f" The plan was {in_words(split, size, visitors(lab))}; that these are others is fine."
        report(lab, output, f"{did} {outlook(lab, uploads)} {traffic(lab)}".rstrip())
        return
    if trial is not None and reward:
        number, measured = trial_number(trial), worksheet.measurements(reward)
        known.append(unless_doubtful(lambda sure: lab.tell(number, measured, sure), yes))
    for row in worksheet.read(sheet) if sheet is not None else []:
        try:
            if row.refusal:
                raise UserError(row.refusal)
            if row.site not in ("", lab.site):
                raise UserError(f"it is a trial of {row.site}, and this is {lab.site}.")
            known.append(unless_doubtful(partial(tell_row, lab, row, correct, reason), yes or row.sure))
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


def tell_row(lab: Lab, row: worksheet.Filled, correct: bool, reason: str, sure: bool) -> bool:
    """Tell a line of a worksheet, or correct what was told of it."""
    trial = Trial(row.trial, row.arm, row.item or None)
    if correct and row.trial not in lab.agent.open:
        return lab.correct(trial, row.reward, reason, sure)
    return lab.tell(trial, row.reward, sure)


def told_counts(lab: Lab, path: Path, correct: bool, reason: str, yes: bool) -> tuple[str, dict[str, int]]:
    """Tell a file of counts, or correct what was told of a file of this name.

    What was done, in a sentence, and the pulls of each arm if they are new.
    """
    rows, name = worksheet.read_counts(path)
    told = [one for one in lab.journal.all_counted() if one.name.startswith(f"{path.name}/")]
    before = [one.name for one in told]
    if correct:
        if len(before) != 1:
            known = "no file" if not before else f"{len(before)} files"
            raise UserError(f"{known} of the name {path.name} had been told; nothing was corrected.")
        new = unless_doubtful(lambda sure: lab.correct_counts(before[0], rows, reason, sure), yes)
        return f"{path.name} is corrected." if new else f"{path.name} was told so already.", {}
    if any(one.counts == rows for one in told):  # perhaps since it was corrected
        return f"{path} was told before, and counts once.", {}
    if before and name not in before and not yes:
        unless_doubtful(lambda sure: sure or _another(path), yes)
    new = unless_doubtful(lambda sure: lab.tell_counts(rows, name, sure), yes)
    if not new:
        return f"{path} was told before, and counts once.", {}
    return f"{count(len(rows), 'arm')} counted.", {arm: int(str(row[0])) for arm, row in rows.items()}


def _another(path: Path) -> bool:
    raise Doubtful(
        f"a file {path.name} was told before with other numbers; if these replace those, use --correct. If it "
        "is another batch, say that you are sure."
    )


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
    if not site["open"] and not site["told"] and (sentence := traffic(lab)):
        print_table(sentence)
    if site["cannot"]:
        print_table(f"This site can't do {', '.join(map(with_reason, site['cannot'].items()))}.")
    if site["corrections"]:
        print_table(f"{count(site['corrections'], 'correction')} will be sent; `bestarm sync` tries it now.")
    if site["open"]:
        print_table(trial_table(site["open"], "Open trials"))
    if study is not None and not lab.finished:
        verdict = verdict_from_json(study["verdict"])
        print_table(f"All sites, {count(study['uploads'], 'upload')}: {verdict}")
        if study["standing"]["error"] is not None and study["uploads"]:
            print_table(study["standing"]["sentence"])
        print_table(study["test"])
        for one in study["warnings"]:
            print_table(f"Warning: {one['sentence']}")
        if verdict.stopped:
            print_table("Nothing more has to be measured; `bestarm sync` tells this site's journal.")
