"""Whether a site that joins says anything that the log does not have."""

from __future__ import annotations

from dataclasses import replace

from bestarm.errors import Refused
from bestarm.protocol.entries import Join
from bestarm.protocol.server import Server

CODE = "other-journal"
OTHER_JOURNAL = (
    "agent {agent!r} has joined with another journal, and two would be taken for one; use that journal, or ask "
    "for a new agent name."
)
ANOTHERS_JOURNAL = (
    "the journal belongs to agent {owner!r}, and this is {agent!r}; each agent needs a journal of its own."
)


def news(join: Join, server: Server) -> Join | None:
    """The entry that a join becomes, None if it says nothing new; refused if it is of another journal.

    An agent is the agent of the first journal that it names, which is nobody else's: one that was taken by
    mistake must not become its own. A site that changes its plate or what it can't do
    counts its joins; one that does not count gets the next number.
    """
    known = server.sites.get(join.agent)
    for owner, site in server.sites.items():
        if owner != join.agent and site.journal is not None and site.journal == join.journal:
            raise Refused(ANOTHERS_JOURNAL.format(owner=owner, agent=join.agent), CODE, 409)
    if known is None or not server.knows(known):  # uploads make an agent known as well
        return join
    said = replace(join, journal=join.journal or known.journal)
    if known.journal not in (None, said.journal):
        raise Refused(OTHER_JOURNAL.format(agent=join.agent), CODE, 409)
    logged = server.past.find(said.id)
    if logged is not None and logged.entry in (join, said):
        return None  # it may have been on its way for long
    if said.number > known.number:
        return said
    return None if replace(said, number=known.number) == known else replace(said, number=known.number + 1)
