"""What a journal and a server must agree on before an agent goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestarm.client.memory.identity import Identity
from bestarm.client.memory.journal import Journal
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.agent import Agent


def identity_of(answer: Mapping[str, Any]) -> Identity:
    """Who the server says this agent is."""
    try:
        identity = Identity.from_json(answer)
        if not isinstance(answer["sequence"], int):
            raise TypeError("sequence is not a whole number")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ServiceError(f"the server's answer to a join can't be used ({error!r}).") from None
    return identity


def check_identity(journal: Journal, theirs: Identity) -> None:
    """A journal is for one agent of one study, and for the problem that it started with.

    The study's name says nothing here: it was asked for by the name in the journal, and may have another now.
    """
    mine = journal.identity
    if mine is None:
        return
    check_agent(journal, theirs.agent)
    if _about(mine) != _about(theirs):
        raise UserError(
            f"journal {journal.path}: it was started for another study of the name {mine.study!r}, "
            "about another problem; a new study needs a new journal."
        )


def check_agent(journal: Journal, agent: str) -> None:
    """A journal is for one agent."""
    if journal.identity is not None and journal.identity.agent != agent:
        raise UserError(
            f"journal {journal.path}: it belongs to agent {journal.identity.agent!r}, and this is {agent!r}; "
            "each agent needs a journal of its own."
        )


def _about(identity: Identity) -> tuple[object, ...]:
    terms = identity.terms
    return terms.fingerprint, terms.squares, terms.bets, terms.pairs


def check_sequence(journal: Journal, agent: Agent | None, theirs: int) -> None:
    """The server has every upload that it answered, and none that this journal did not send."""
    answered = agent.sequence - len(agent.uploads) if agent is not None else 0
    has = f"journal {journal.path}: the server has {theirs} upload{'s' * (theirs != 1)} of this agent and"
    if theirs > answered + journal.sent:
        raise UserError(
            f"{has} this journal sent fewer, so it is an old copy, or another journal is in use for the same "
            "agent; use that one, or ask for a new agent name and start a new journal."
        )
    name = "NAME" if journal.identity is None else journal.identity.study
    if theirs < answered:
        lost = f"{has} answered {answered} before, so it has lost some: it was probably put back from a backup."
        if journal.receipts.between(theirs + 1, answered) is None:
            raise UserError(
                f"{lost} This journal does not have all of those as they were sent (an earlier version of "
                "bestarm did not keep them), so this site can't send them again. Tell the coordinator: a newer "
                "backup may have them; if there is none, ask for a new agent name and start a new journal, and "
                "keep this one."
            )
        raise UserError(
            f"{lost} Tell the coordinator, who says `bestarm study restored {name}` once; then this site sends "
            "them again. Nothing is lost here."
        )
