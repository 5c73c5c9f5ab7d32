"""What was told was wrong, or an arm can't be done here: a site's changes of mind, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bestarm.client.corrections import change, check_reason, counts_tally
from bestarm.client.memory.identity import Said
from bestarm.client.server.link import Link
from bestarm.client.telling import Telling, check_arm, number_of, rows_of
from bestarm.errors import UserError
from bestarm.protocol.messages import Trial


class Correcting:
    """What `correct`, `cannot` and their like do."""

    def __init__(self, link: Link, telling: Telling) -> None:
        self.link = link
        self.telling = telling

    def correct(self, trial: Trial | int, reward: float | Sequence[float], reason: str, sure: bool) -> bool:
        """Change what was told of a trial; False if it was told so already."""
        reason = check_reason(reason)
        with self.link.lock:
            number = number_of(trial)
            new, measured = self.telling.measured(reward)
            if number in self.link.agent.open:
                raise UserError(f"trial {number} was not told yet; tell it.")
            told = self.telling.find(number)
            check_arm(trial, told.arm)
            if (told.reward, told.measured) == (new, measured):
                return False
            doubts = self.telling.doubts
            if not sure:
                doubts.check_rewards(told.arm, measured or [new], self.telling.terms, leave_out=number)
            change(self.link.exchange, told, list(measured) or new, reason)
            doubts.forget()
        self.link.try_to_send()
        return True

    def correct_counts(self, name: str, counts: Mapping[str, Sequence[Any]], reason: str, sure: bool) -> bool:
        """Change all counts that were told under a name; False if they were so already."""
        reason = check_reason(reason)
        with self.link.lock:
            known = [one for one in self.link.journal.all_counted() if one.name == name and name]
            if not known:
                raise UserError(f"no counts were told under the name {name!r}; tell them.")
            rows = rows_of(counts)
            if known[0].counts == rows:
                return False
            counts_tally(self.link.exchange, rows, self.link.journal.plan_of(known[0].sequence))
            if not sure:
                self.telling.doubts.check_counts(rows, self.telling.terms, name)
            change(self.link.exchange, known[0], rows, reason)
        self.link.try_to_send()
        return True

    def cannot(self, arm: str, reason: str) -> int:
        """An arm can't be done here from now on; how many open trials of it were given back."""
        reason = check_reason(reason)
        with self.link.lock:
            said, arms = self._said_of(arm), self.telling.terms.arms
            opened = sum(arms[one] == arm for one in self.link.agent.open.values())
            if arm not in said.cannot:
                if not set(arms) - set(said.cannot) - {arm}:
                    raise UserError(
                        f"{arm!r} is the last arm that this site can do; `leave` if it can do none."
                    )
                self.link.exchange.can_do((*said.cannot, arm), {arm: reason})
        self.link.say_in_a_hurry()
        return opened

    def can_again(self, arm: str) -> None:
        """An arm can be done here again."""
        with self.link.lock:
            said = self._said_of(arm)
            if arm not in said.cannot:
                raise UserError(f"this site never said that it can't do {arm!r}.")
            self.link.exchange.can_do(tuple(one for one in said.cannot if one != arm), {})
        self.link.say_in_a_hurry()

    def _said_of(self, arm: object) -> Said:
        arms = self.telling.terms.arms
        if arm not in arms:
            raise UserError(f"{arm!r} is not an arm of the study; there are {', '.join(arms)}.")
        return self.link.journal.said or Said()
