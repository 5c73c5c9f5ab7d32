"""Changing what was told: in the journal while nobody has seen it, afterwards as a message to the server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bestarm.client.memory.past import Counted, Told, counts_as, tally_of
from bestarm.client.server.exchange import Exchange
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.names import check_text
from bestarm.protocol.agent import Agent

MOST_LETTERS = 500  # of a reason


def check_reason(reason: object) -> str:
    """A reason on one line, and not too long for a log.

    >>> check_reason(" a comma forgotten ")
    'a comma forgotten'
    """
    if not isinstance(reason, str) or len(reason) > MOST_LETTERS or "\n" in reason.strip():
        raise UserError(f"reason is not a line of text of at most {MOST_LETTERS} letters.")
    return check_text("reason", reason.strip())


def change(exchange: Exchange, told: Told | Counted, now: Any, reason: str) -> None:
    """Let a reward, or counts, be others from now on. The caller holds the exchange's lock.

    A batch that was never sent is made anew, and the server never hears of the mistake. For one that it has, or
    may have, the tally of the whole batch is made from the raw rewards and waits to be sent.
    """
    agent, journal = exchange.agent, exchange.journal
    if told.sequence == 0 or told.sequence > exchange.answered + journal.sent:
        journal.amend(told, now, reason)
        exchange.forget_agent()
    else:
        tally = _tally(exchange, told, now)
        journal.queue(told, now, reason, tally.to_json(agent.terms.arms))


def _tally(exchange: Exchange, told: Told | Counted, now: Any) -> Tally:
    """What the batch of what was told adds up to with it changed."""
    terms, journal = exchange.agent.terms, exchange.journal
    if isinstance(told, Counted):
        return counts_tally(exchange, now, journal.plan_of(told.sequence))
    batch, plan = journal.of_batch(told.sequence)
    if plan is None:
        raise UserError(
            f"trial {told.trial} was told too long ago, or with an earlier version: this journal does not know "
            "its batch any more; ask the coordinator to correct it."
        )
    reward, _ = counts_as(now)
    right = [replace(one, reward=reward) if one.trial == told.trial else one for one in batch]
    return tally_of(plan, right, terms)


def counts_tally(exchange: Exchange, counts: Mapping[str, Sequence[Any]], plan: Plan | None) -> Tally:
    """The tally of counts that were told under this plan; what can't be is refused."""
    agent = Agent(exchange.agent.terms)
    agent.start(plan or Plan((0,), (1,)))
    return agent.tell_counts(json.loads(json.dumps(counts))).tally
