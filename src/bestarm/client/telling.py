"""Taking what trials gave: each is checked, written down before anybody hears of it, and counted once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

from bestarm.client.asking import Asking
from bestarm.client.doubt import Doubts
from bestarm.client.memory.lines import Happening, Line, upload_line
from bestarm.client.memory.past import Told, counts_as
from bestarm.client.server.link import Link
from bestarm.errors import UserError
from bestarm.protocol.messages import Trial
from bestarm.protocol.terms import Terms
from bestarm.reward import YES_NO


class Telling:
    """What `tell` and its like do."""

    def __init__(self, link: Link, asking: Asking) -> None:
        self.link = link
        self.asking = asking
        self.doubts = Doubts(link.journal)

    @property
    def terms(self) -> Terms:
        """What the study's rewards must be like."""
        return self.link.agent.terms

    def tell(self, trial: Trial | int, reward: float | Sequence[float], sure: bool) -> bool:
        """Record what a trial gave; False if it was known already."""
        link = self.link
        with link.lock:
            number = number_of(trial)
            reward, measured = self.measured(reward)
            if number not in link.agent.open:
                return self._already_told(trial, reward, measured)
            arm = self.terms.arms[link.agent.open[number]]
            check_arm(trial, arm)
            check_item(trial, self.asking.label(number))
            if not sure:
                self.doubts.check_rewards(arm, measured or [reward], self.terms)
            batch = link.agent.batch_of(number)
            with link.exchange.all_or_nothing():
                body = json.dumps(measured) if measured else ""
                lines = [Line(Happening.TOLD, number, arm, reward, body, batch)]
                if link.agent.tell(number, reward) is not None:
                    lines.append(upload_line(link.agent, batch))
                link.journal.append(*lines)
            self.doubts.saw(arm, reward)
        link.try_to_send()
        return True

    def measured(self, reward: float | Sequence[float]) -> tuple[float, tuple[float, ...]]:
        """What a trial counts as, and its single measurements if there are several; each is checked."""
        several = list(reward) if isinstance(reward, list | tuple) else [reward]
        if not several:
            raise UserError("reward is an empty list; give what was measured.")
        checked = [self.terms.check_reward(one) for one in several]
        mean, measured = counts_as(checked if len(checked) > 1 else checked[0])
        if self.terms.rewards == YES_NO and len(set(checked)) > 1:
            raise UserError(
                f"reward is {reward!r}; rewards are 0 or 1, and measurements of one trial must agree on it."
            )
        return mean, measured

    def tell_counts(self, counts: Mapping[str, Sequence[Any]], name: str, sure: bool) -> bool:
        """Record a batch that was added up elsewhere; False if it was known already by its name."""
        link = self.link
        with link.lock:
            body = json.dumps(rows_of(counts))
            known = link.journal.counted(name) if name else None
            if known is not None:
                if known == body:
                    return False
                raise UserError(
                    f"the counts {name!r} were told before, with other numbers; a batch counts once. If these "
                    "are right, correct them."
                )
        link.try_to_send()
        with link.lock, link.exchange.all_or_nothing():
            batch = -link.agent.tell_counts(json.loads(body)).sequence
            if not sure:
                self.doubts.check_counts(json.loads(body), self.terms, name)
            line = Line(Happening.COUNTED, arm=name, body=body, batch=batch)
            link.journal.append(line, upload_line(link.agent, batch))
        link.try_to_send()
        return True

    def give_back(self, trial: Trial | int) -> None:
        """A trial is not done; its place is handed out again."""
        link, number = self.link, number_of(trial)
        with link.lock, link.exchange.all_or_nothing():
            batch = link.agent.batch_of(number) if number in link.agent.open else 0
            link.agent.give_back(number)
            link.journal.append(Line(Happening.GIVEN_BACK, number, batch=batch))
        link.tell_others()

    def leave(self, wait: float | None) -> bool:
        """Send what there is; False if there is nothing."""
        link = self.link
        with link.lock:
            for batch in list(link.agent.batches):
                with link.exchange.all_or_nothing():
                    if link.agent.close_batch(batch) is not None:
                        link.journal.append(upload_line(link.agent, batch))
        if link.agent.upload is None:
            return False
        link.sync(wait)
        return True

    def find(self, number: int) -> Told:
        """What was told of a trial that is not open; a sentence if nothing was."""
        handed_out = 0 < number < self.link.agent.next_number
        told = self.link.journal.find(number) if handed_out else None
        if told is not None:
            return told
        if not handed_out:
            raise UserError(f"trial {number} was never handed out.")
        dropped = self.link.journal.why_dropped(number)
        if dropped is not None and dropped[1] == "withdrawn":
            raise UserError(f"arm {dropped[0]!r} was withdrawn from the study, and trial {number} taken back.")
        if dropped is not None:
            raise UserError(f"this site can't do {dropped[0]!r}, and trial {number} was given back.")
        raise UserError(
            f"trial {number} is not open any more: it was given back, or its batch was sent without it."
        )

    def _already_told(self, trial: Trial | int, reward: float, measured: tuple[float, ...]) -> bool:
        number = number_of(trial)
        told = self.find(number)
        check_arm(trial, told.arm)
        if (told.reward, told.measured) == (reward, measured):
            return False
        before, now = (
            list(several) or one for one, several in ((told.reward, told.measured), (reward, measured))
        )
        raise UserError(
            f"trial {number} was told {before!r} and now {now!r}; if that was a mistake, correct it."
        )


def rows_of(counts: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Counts as JSON has them, with Python's numbers in the place of numpy's; a sentence if they are none.

    >>> rows_of({"A": (5000, 251)})
    {'A': [5000, 251]}
    """
    try:
        rows = {arm: list(row) for arm, row in counts.items()}
        return dict(json.loads(json.dumps(rows, default=_plain)))
    except (AttributeError, TypeError):
        form = "a row for each arm, as in {'A': (5000, 251), 'B': (5000, 203)}"
        raise UserError(f"counts is {counts!r}; it must have {form}.") from None


def _plain(value: Any) -> int | float:
    """A number of numpy as one of Python."""
    try:
        return index(value)
    except TypeError:
        return float(value)


def number_of(trial: Trial | int) -> int:
    """A trial's number; a sentence if it is no trial."""
    try:
        return index(trial.number if isinstance(trial, Trial) else trial)
    except TypeError:
        raise UserError(f"{trial!r} is not a trial; give a trial that ask returned, or its number.") from None


def check_arm(trial: Trial | int, arm: str) -> None:
    """A trial that was given whole must be about the arm that its number stands for."""
    if isinstance(trial, Trial) and trial.arm != arm:
        raise UserError(f"trial {trial.number} is for arm {arm!r}, not for {trial.arm!r}.")


def check_item(trial: Trial | int, item: int | str | None) -> None:
    """And on its item."""
    if isinstance(trial, Trial) and trial.item is not None and str(trial.item) != str(item):
        raise UserError(f"trial {trial.number} is on item {item!r}, not on {trial.item!r}.")
