"""What the commands at a site say: where it stands, what is asked of it, and how the study ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from bestarm.cli.output import Format, count, make_table, print_json, print_table, say
from bestarm.client.lab import Lab
from bestarm.client.memory.journal import JournalError
from bestarm.client.server.exchange import CLOSED
from bestarm.client.server.link import HURRY
from bestarm.client.split import in_words
from bestarm.errors import Refused, ServiceError
from bestarm.protocol.messages import Trial
from bestarm.reward import YES_NO
from bestarm.verdict import Reason, Verdict


def with_reason(pair: tuple[str, str]) -> str:
    """A name, and why in brackets."""
    return f"{pair[0]} ({pair[1]})" if pair[1] else pair[0]


def look_for_the_end(lab: Lab) -> None:
    """No trial is worth doing once the study is finished; a server that is away is not waited for."""
    if lab.agent.finished:
        return
    try:
        with lab.connection.in_a_hurry(HURRY):
            lab.sync()
    except Refused as error:
        if error.status == 403:
            raise  # the token is somebody else's; one that was revoked meanwhile was this site's
        if error.code != CLOSED:  # `outlook` says that
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
    columns = [name for name in ("trial", "item", "arm", "") if name in trials[0]]
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


def visitors(lab: Lab) -> str:
    """What an experiment is called here."""
    return "visitors" if lab.terms.rewards == YES_NO else "trials"


def traffic(lab: Lab) -> str:
    """The plan as a split of traffic, for whoever counts; nothing with items, or while there is no plan."""
    if lab.finished or lab.terms.items or not lab.split:
        return ""
    return f"As a split of traffic: {in_words(lab.split, lab.agent.plan.size, visitors(lab))}."


def fewer(lab: Lab, trials: Sequence[Trial], n: int) -> str:
    """What to say where there were not as many trials as were asked for."""
    if not 0 < len(trials) < n or lab.terms.items:
        return ""
    why = f": {lab.waiting_for}" if lab.waiting_for else "."
    return f"{len(trials)} of {n}, all that the plan still has{why}"


def report(lab: Lab, output: Format, sentence: str) -> None:
    """What a command did, for a person; where the site stands, for a program."""
    if output is Format.json:
        print_json(lab.status())
    else:
        print_table(sentence)


ENDS = {
    Reason.BUDGET: "its budget is used up",
    Reason.DEADLINE: "its deadline has passed",
    Reason.CLOSED: "it was closed",
}


def ending(verdict: Verdict) -> str:
    """How a study ended: with the best arm, or without."""
    if verdict.stopped or verdict.reason not in ENDS:
        return f"The study is finished: {verdict.arm} is best, after {verdict.samples:,} samples."
    return f"The study is over, since {ENDS[verdict.reason]}, and the best arm is not known for sure. {verdict}"


def outlook(lab: Lab, uploads: int | None = None) -> str:
    """What comes next at this site, in a sentence or two; `uploads` is how many there were before."""
    site = lab.status()
    if lab.verdict is not None:
        late = f" {count(site['told'], 'reward')} came later; `bestarm leave` sends them for the record."
        end, words = ending(lab.verdict), lab.agent.last_words
        said = f" {words}" if words and words not in end else ""
        return end + said + (late if site["told"] else "")
    if lab.closed:
        kept = site["told"] + sum(upload.tally.samples for upload in lab.agent.uploads)
        rest = f" {count(kept, 'reward')} that it did not take stay in this journal." if kept else ""
        return f"No more trials: {lab.closed}{rest}"
    if site["unsent"]:
        return f"An upload is kept until it can be sent: {lab.waiting_for or '`bestarm sync` sends it.'}"
    subject = "The plan"
    if uploads is not None and site["uploads"] > uploads:
        filled = "That filled a batch, and it is sent. With what is still in hand the plan"
        subject = filled if site["batches"] else "That filled the plan, and it is sent. The next one"
    return (
        f"{subject} has {count(site['plan'], 'trial')}: {site['told']} told, {len(site['open'])} open, "
        f"{site['to_hand_out']} to be handed out."
    )
