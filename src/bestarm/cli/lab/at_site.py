"""Commands at a site: each is handed its `Lab`; and what it takes to tell it something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from bestarm.cli.output import say
from bestarm.cli.server import Agent, Url
from bestarm.cli.shared import Command, option, with_shared
from bestarm.client.connect import connect
from bestarm.client.doubt import Doubtful
from bestarm.client.server.address import JOURNAL, check_url, is_storage
from bestarm.client.server.connection import resolve
from bestarm.client.sheets import worksheet
from bestarm.errors import UserError

Wait = Annotated[float, typer.Option(min=0.0, help="Seconds to keep trying while the server is away.")]
Yes = Annotated[bool, typer.Option("--yes", help="Take numbers that look like a slip without a question.")]
OPTIONS = [
    option("url", Url),
    option("token", Annotated[str | None, typer.Option(help="This site's token; or BESTARM_TOKEN.")]),
    option("agent", Agent),
    option(
        "study",
        Annotated[str | None, typer.Option(help="The study; or BESTARM_STUDY, or the only one there is.")],
    ),
    option(
        "journal",
        Annotated[
            str | None,
            typer.Option(
                help=f"This site's memory; or BESTARM_JOURNAL.  [default: {JOURNAL}; without a server, beside "
                "the storage]"
            ),
        ],
    ),
]


def _at_lab(command: Command, shared: dict[str, Any], own: dict[str, Any]) -> None:
    settings = resolve(**shared)
    url = check_url(settings.need("url"))
    alone = is_storage(url)
    lab = connect(
        url,
        token=None if alone else settings.need("token"),
        agent=settings.need("agent") if alone else settings.agent,
        study=settings.study,
        journal=settings.journal,
        plate=own.get("plate"),
        wait=own.get("wait", 0.0),
        resume=False,  # two `ask` in a row mean two sets of trials; `ask --again` shows the open ones
        waiting=lambda reason, pause: say(f"waiting {pause:.1f} s: {reason}"),
    )
    with lab:
        command(lab, **own)


# A command whose first argument is a `Lab`, which is closed afterwards.
at_site = with_shared(OPTIONS, _at_lab)


def trial_number(text: str) -> int:
    """The number of a trial, as somebody typed it."""
    if not worksheet.TRIAL.fullmatch(text):
        raise UserError(f"trial is {text[:40]!r}; it must be the whole number that was handed out.")
    return int(text)


def unless_doubtful(tell: Callable[[bool], bool], yes: bool) -> bool:
    """Tell something; what is doubtful is asked about, or refused where nobody can be asked."""
    try:
        return tell(yes)
    except Doubtful as error:
        if not sys.stdin.isatty():
            raise UserError(f"{str(error).rstrip('.')}: --yes.") from None
        say(str(error))
        if not typer.confirm("Are you sure?", err=True):
            raise UserError("it was not taken.") from None
        return tell(True)
