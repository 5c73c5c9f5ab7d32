"""Taking part in a study: `connect`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing

import httpx

from bestarm.client.connection import Connection
from bestarm.client.journal import Journal
from bestarm.client.lab import Lab
from bestarm.client.patience import Patience

JOURNAL = "bestarm-journal.db"


def connect(
    url: str,
    *,
    token: str,
    study: str | None = None,
    journal: str | os.PathLike[str] = JOURNAL,
    plate: int | None = None,
    cannot: Sequence[str] | None = None,
    items: int | str | os.PathLike[str] | Iterable[int | str] | None = None,
    wait: float | None = 0.0,
    resume: bool = True,
    sure: bool = False,
    waiting: Callable[[str, float], None] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Lab:
    """Take part in a study as the agent that the token belongs to.

        lab = bestarm.connect("http://host:8000", study="ligands", token="…", journal="lab-a.db")
        while not lab.finished:
            for trial in lab.ask(8, wait=None):
                lab.tell(trial, measure(trial.arm))

    Everything that the site knows is in the journal, a file that survives a kill: the next `connect` goes on
    where the last one was. Only the first one needs the server; later ones work offline.

    `study` may be left out if the server knows just one for this token. `plate` is how many trials fit on one
    of the site's plates: its plans become whole plates. `cannot` are the arms that it can't do: its plans have
    none of them. Both are remembered and need not be given again; what is new holds from the next plan on.
    `items` is the site's own list, where the study has items: their names, a file with one a line, or how many
    there are; without it they are numbered. The journal keeps it, and the random order in which they come.
    `wait` is how long to try the first time, in seconds, None for as long as it takes. With `resume`, trials
    that an earlier process left open are handed out first, under their old numbers. `sure` is for rewards that
    come from an instrument or a program: none of them is taken for a slip of the pen. `waiting` is called with
    what is waited for and the seconds until the next try; the same goes to the log `bestarm.client`.

    >>> connect("laboratory", token="…")
    Traceback (most recent call last):
    bestarm.errors.UserError: url is 'laboratory'; it must look like http://host:8000 or https://host.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(Connection(url, token, transport=transport))
        book = opened.enter_context(closing(Journal(journal)))
        lab = Lab(connection, book, study, resume, Patience(waiting), plate, cannot, sure)
        if not lab.joined:
            lab.sync(wait)
        elif lab.has_news:
            lab.try_to_say()
        if items is not None:
            lab.keep_items(items)
        opened.pop_all()
    return lab
