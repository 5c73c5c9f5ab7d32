"""Handing out trials: those that were left open first, then the plan's, then what the server can still give."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from operator import index
from typing import Any

from bestarm.client.memory.journal import JournalError
from bestarm.client.memory.lines import asked_lines
from bestarm.client.server.link import Link
from bestarm.client.server.patience import nobody_waits
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.messages import Trial

log = logging.getLogger("bestarm.client")


class Asking:
    """What `ask` does. `resume`: trials that an earlier process left open are handed out first."""

    def __init__(self, link: Link, resume: bool) -> None:
        self.link = link
        self._wanted = 0  # trials that are being asked for
        self._passes = 1  # through the list of items, of which was spoken
        # Trials that were left open, and were not handed out again yet.
        self._left_open = set(link.agent.open) if resume and link.exchange.joined else set()

    @property
    def open(self) -> list[Trial]:
        """The trials that were handed out and wait for their reward."""
        with self.link.lock:
            agent = self.link.agent
            arms, found = agent.terms.arms, sorted(agent.open.items())
            return [Trial(number, arms[arm], self.label(number)) for number, arm in found]

    def label(self, number: int) -> int | str | None:
        """The site's own name of an open trial's item."""
        item = self.link.agent.items.get(number)
        return None if item is None else self.link.journal.items.label(item)

    def ask(self, n: int, wait: float | None) -> list[Trial]:
        """`n` trials, or fewer if no more are to be had; `waiting_for` says why there are none."""
        n = _checked(n)
        if self.link.journal.closed and not self.link.agent.finished:
            self._look_again()
        with self.link.lock:
            self._wanted += n
        try:
            return self.link.persist(lambda: self._obtain(n), wait, self._rest)
        except JournalError:
            raise
        except ServiceError:
            return []
        finally:
            with self.link.lock:
                self._wanted -= n

    def _look_again(self) -> None:
        """A study that was closed may go on; if nobody says so it stays closed."""
        try:
            self.link.sync()
        except JournalError:
            raise
        except (ServiceError, UserError) as error:
            log.info("%s", error)

    def _obtain(self, n: int) -> list[Trial]:
        """Trials, from the plan at hand or from the server's next one."""
        error: ServiceError | UserError | None = None
        more = True
        while True:
            try:
                more = self._fetch(n)
            except JournalError:
                raise
            except (ServiceError, UserError) as away:
                error = away
            trials = self._hand_out(n)
            if trials or self.link.finished or error is not None or not more:
                break  # otherwise others have taken what there was
        if error is not None:
            self.link.waiting_for = str(error)
        if not trials and not self.link.finished:
            raise self._none_left(error)
        return trials

    def _none_left(self, error: ServiceError | UserError | None) -> ServiceError | UserError:
        """Why there are no trials: the server is away, or all are under way, or it has none."""
        with self.link.lock:
            if isinstance(error, UserError) or (error is not None and self.link.agent.upload is not None):
                return error
            numbers = ", ".join(str(trial.number) for trial in self.open)
            if numbers:
                sentence = f"all trials of the plan are under way; tell or give back trial {numbers}."
            else:
                sentence = "there are no trials for this site now."
            return ServiceError(sentence) if error is None or numbers else error

    def _short(self, n: int) -> bool:
        """Whether there are fewer trials to hand out than are asked for."""
        with self.link.lock:
            agent = self.link.agent
            missing = n - len(self._again()) - agent.to_hand_out
            together = len(agent.plan.arms) if agent.terms.items else 1
            return not self.link.finished and missing >= min(together, n)

    def _fetch(self, n: int) -> bool:
        """Get more to hand out, if that is needed; whether there is enough then.

        If there is something already, a slow server is not waited for.
        """
        if not self._short(n):
            return True
        with self.link.wire:
            if not self._short(n):
                return True  # somebody else was faster
            with self.link.hurry():
                if self.link.agent.upload is None:
                    self._wish()
                self.link.exchange.send_and_fetch()
                if self._short(n) and self._wish():
                    self.link.exchange.send_and_fetch()
            self.link.tell_others()
            return not self._short(n)

    def _wish(self) -> bool:
        with self.link.lock:
            return self.link.exchange.wish(self._wanted)

    def hand_out_again(self, trials: Iterable[Trial]) -> None:
        """Trials were handed out that nobody has got: they are the next ones, under the numbers they have."""
        with self.link.lock:
            self._left_open |= {trial.number for trial in trials}
        self.link.tell_others()

    def _rest(self, pause: float) -> None:
        """Wait until there are trials to hand out, but not longer."""
        with self.link.changed:
            self.link.changed.wait_for(lambda: self._has_some() or nobody_waits(), pause)

    def _has_some(self) -> bool:
        return self.link.finished or self.link.agent.to_hand_out > 0 or bool(self._again())

    def _again(self) -> set[int]:
        """The trials that come first; one may have been told meanwhile, by its number."""
        return self._left_open & self.link.agent.open.keys()

    def _hand_out(self, n: int) -> list[Trial]:
        with self.link.lock:
            if self.link.finished:
                return []
            again = [trial for trial in self.open if trial.number in self._left_open] if self._left_open else []
            again = again[:n]
            self._left_open -= {trial.number for trial in again}
            with self.link.exchange.all_or_nothing():
                new = self.link.agent.ask(n - len(again))
                if new:
                    self.link.journal.append(*asked_lines(self.link.agent, new))
            return again + [self._named(trial) for trial in new]

    def _named(self, trial: Trial) -> Trial:
        """A new trial with the site's own name of its item."""
        if not isinstance(trial.item, int):
            return trial
        items = self.link.journal.items
        if items.passes(trial.item) > max(self._passes, items.passes(max(trial.item - 1, 1))):
            self._passes, self.link.notice = items.passes(trial.item), items.again()
            log.warning("%s", self.link.notice)
        return replace(trial, item=items.label(trial.item))


def _checked(n: Any) -> int:
    """How many trials, as an int of Python; numpy has others."""
    try:
        number = 0 if isinstance(n, bool) else index(n)
    except TypeError:
        number = 0
    if number < 1:
        raise UserError(f"n is {n!r}; it must be a whole number of at least 1.")
    return number
