"""How a lab's verbs reach the server: who may speak to it, who waits for it, and what is in the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from bestarm.client.memory.journal import Journal, JournalError
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import Exchange
from bestarm.client.server.patience import Patience
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.agent import Agent

HURRY = 3.0  # seconds that a server gets to answer while there is something to do without it
T = TypeVar("T")
log = logging.getLogger("bestarm.client")


class Link:
    """An exchange that threads share: one of them speaks to the server, others wait for what it brings."""

    def __init__(self, exchange: Exchange, patience: Patience) -> None:
        self.exchange = exchange
        self.patience = patience
        self.lock = exchange.lock
        self.wire = threading.Lock()  # held by the one thread that speaks to the server
        self.changed = threading.Condition(self.lock)  # there may be trials to hand out, or the verdict
        self.waiting_for = ""  # what keeps this site from going on, in a sentence; empty if nothing does
        self.notice = ""  # what whoever works here should know, in a sentence

    @property
    def agent(self) -> Agent:
        """The state machine that the journal leads to."""
        return self.exchange.agent

    @property
    def journal(self) -> Journal:
        """The site's memory."""
        return self.exchange.journal

    @property
    def connection(self) -> Connection:
        """The way to the server."""
        return self.exchange.connection

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        return self.agent.finished or bool(self.journal.closed)

    def sync(self, wait: float | None = 0.0) -> None:
        """Send what is complete and fetch what is new, once, or for `wait` seconds, or until it succeeds."""
        self.persist(self._speak, wait)

    def _speak(self) -> None:
        with self.wire:
            self.exchange.send_and_fetch()
        self.tell_others()

    def tell_others(self) -> None:
        """Wake whoever waits for trials."""
        with self.changed:
            self.changed.notify_all()

    def persist(
        self, attempt: Callable[[], T], wait: float | None, rest: Callable[[float], None] | None = None
    ) -> T:
        """Try again for so long what fails for a reason that may pass."""

        def noted() -> T:
            with self._noting():
                return attempt()

        return self.patience.persist(noted, wait, rest)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep in `waiting_for` what is in the way."""
        self.waiting_for = ""
        try:
            yield
        except (ServiceError, UserError) as error:
            self.waiting_for = str(error)
            raise

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """A slow server is not waited for while there is something to hand out."""
        if not self.exchange.joined or not self.agent.to_hand_out:
            yield
        else:
            with self.connection.in_a_hurry(HURRY):
                yield

    def try_to_say(self) -> None:
        """Tell the server how this site works now; if it is away, it hears of it when there is more to say."""
        try:
            self.sync()
        except JournalError:
            raise
        except ServiceError as error:
            log.info("the server does not know yet how this site works: %s", error)

    def say_in_a_hurry(self) -> None:
        """The same, for something that holds already whatever the server says to it."""
        try:
            with self.connection.in_a_hurry(HURRY):
                self.try_to_say()
        except UserError as error:
            log.info("the server does not know yet how this site works: %s", error)

    def try_to_send(self) -> None:
        """A told reward is safe whatever the server says, so nothing is raised here; `ask` and `sync` do.

        Whoever is sending already sends this too, once it has looked again.
        """
        while self._has_to_send() and self.wire.acquire(blocking=False):
            try:
                with self._noting():
                    self.exchange.send_and_fetch()
            except JournalError:
                raise
            except (ServiceError, UserError) as error:
                log.warning("the upload is kept and will be sent again: %s", error)
                return
            finally:
                self.wire.release()
            self.tell_others()
            self.notice = self.exchange.notice or self.notice
            if self.agent.upload is None:
                return  # a correction that waits still is not taken now

    def _has_to_send(self) -> bool:
        with self.lock:
            return self.agent.upload is not None or bool(self.journal.past.waiting())
