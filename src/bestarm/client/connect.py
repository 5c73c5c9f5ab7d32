"""Taking part in a study: `connect`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing

import httpx

from bestarm.client.lab import Lab
from bestarm.client.memory.agreement import check_agent
from bestarm.client.memory.beside import journal_beside
from bestarm.client.memory.journal import Journal
from bestarm.client.server.address import JOURNAL, is_storage, open_inside, shown
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import only_study
from bestarm.client.server.patience import Patience
from bestarm.errors import UserError
from bestarm.names import check_name


def connect(
    url: str,
    *,
    token: str | None = None,
    agent: str | None = None,
    study: str | None = None,
    journal: str | os.PathLike[str] | None = None,
    plate: int | None = None,
    cannot: Sequence[str] | None = None,
    items: int | str | os.PathLike[str] | Iterable[int | str] | None = None,
    wait: float | None = 0.0,
    resume: bool = True,
    sure: bool = False,
    waiting: Callable[[str, float], None] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Lab:
    """Take part in a study: on a server as the agent that the token belongs to, or without one as `agent`.

        lab = bestarm.connect("http://host:8000", study="ligands", token="…", journal="lab-a.db")
        lab = bestarm.connect("sqlite:///ligands.db", study="ligands", agent="lab-a")
        while not lab.finished:
            for trial in lab.ask(8, wait=None):
                lab.tell(trial, measure(trial.arm))

    Everything that the site knows is in the journal, a file that survives a kill: the next `connect` goes on
    where the last one was. Only the first one needs the server; later ones work offline. Where nobody names it,
    it is bestarm-journal.db in this folder; without a server it is beside the storage, one for each agent.

    A storage, `sqlite:///file.db` or `postgresql+psycopg://user@host/database`, may be used by several
    processes at once, each of them another agent, and by `bestarm serve --storage …` beside them. It needs what
    `pip install "bestarm[server]"` brings.

    `study` may be left out if there is just one for this caller. `plate` is how many trials fit on one
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
    bestarm.errors.UserError: url is 'laboratory'; it must look like http://host:8000, https://host, \
sqlite:///file.db or postgresql+psycopg://user@host/database.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(_reach(url, token, agent, transport))
        if journal is None and agent is not None and is_storage(url):
            study = study or only_study(connection)
            book = opened.enter_context(closing(Journal(journal_beside(connection, url, study, agent))))
            study = study if book.identity is None else None  # it may have another name by now
        else:
            book = opened.enter_context(closing(Journal(JOURNAL if journal is None else journal)))
        if agent is not None:
            check_agent(book, agent)
        lab = Lab(connection, book, study, resume, Patience(waiting), plate, cannot, sure)
        if not lab.joined:
            lab.sync(wait)
        elif lab.has_news:
            lab.try_to_say()
        if agent is not None:
            check_agent(book, agent)
        if items is not None:
            lab.keep_items(items)
        opened.pop_all()
    return lab


def _reach(url: str, token: str | None, agent: str | None, transport: httpx.BaseTransport | None) -> Connection:
    """The way to a server, with a token, or into a storage, as an agent."""
    if not is_storage(url):
        if token is None:
            raise UserError(f"token is not given; {url} is a server, and needs one.")
        return Connection(url, token, transport=transport)
    if token is not None:
        raise UserError("token is given, and without a server there is none; leave it out, and name the agent.")
    if agent is None:
        raise UserError("agent is not given; without a server it says which site this is, as in agent='me'.")
    check_name("agent", agent)
    return Connection.within(open_inside(url, make=False).site(agent, last=True), shown(url))
