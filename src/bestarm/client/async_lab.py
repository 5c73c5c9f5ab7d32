"""A lab for asyncio: the verbs of `Lab`, each in a thread, and what it means that a task is cancelled."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from bestarm.client.connect import connect
from bestarm.client.history import History
from bestarm.client.lab import Lab
from bestarm.client.overview import Overview, Standing
from bestarm.client.server.patience import given_up
from bestarm.protocol.messages import Trial
from bestarm.protocol.terms import Terms
from bestarm.verdict import Verdict

MOST_WAITING = 64  # calls that wait at once for the server or for trials; more of them queue
MOST_TELLING = 4  # one of them may be sending; the others only write to the journal
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("bestarm.client")


class AsyncLab:
    """A `Lab` whose verbs are awaited; any number of tasks may use it at once.

    What is told is written down even if the task that tells it is cancelled meanwhile: telling it again is
    harmless. Trials that a cancelled `ask` would have got are the next ones to be handed out. A verb that waits
    for the server stops waiting when its task is cancelled.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        # What is told must never queue behind those who wait, perhaps for just that.
        self._waiting = ThreadPoolExecutor(MOST_WAITING, "bestarm-waiting")
        self._telling = ThreadPoolExecutor(MOST_TELLING, "bestarm-telling")
        self._here: set[threading.Event] = set()  # of calls that may wait: set when nobody waits for them

    @property
    def site(self) -> str:
        """Which agent of which study this is, in one word."""
        return self.lab.site

    @property
    def terms(self) -> Terms:
        """What a site has to know of its study: the arms, and which rewards can be true."""
        return self.lab.terms

    @property
    def open(self) -> list[Trial]:
        """The trials that were handed out and wait for their reward."""
        return self.lab.open

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do: the best arm is known, or the study is over, or was closed."""
        return self.lab.finished

    @property
    def closed(self) -> str:
        """What the server said of a study that a person has closed."""
        return self.lab.closed

    @property
    def verdict(self) -> Verdict | None:
        """The server's answer, once there is one."""
        return self.lab.verdict

    @property
    def waiting_for(self) -> str:
        """What keeps this site from going on, in a sentence; empty if nothing does."""
        return self.lab.waiting_for

    @property
    def notice(self) -> str:
        """What whoever works here should know, in a sentence."""
        return self.lab.notice

    @property
    def split(self) -> dict[str, float]:
        """The plan as a split of traffic."""
        return self.lab.split

    async def ask(self, n: int = 1, wait: float | None = 0.0) -> list[Trial]:
        """As `Lab.ask`; cancelled, its trials are handed out by the next one."""
        return await self._wait(self.lab.hand_out_again, self.lab.ask, n, wait)

    async def tell(self, trial: Trial | int, reward: float | Sequence[float], sure: bool = False) -> bool:
        """As `Lab.tell`; cancelled, the reward is written down all the same."""
        return await self._surely(self.lab.tell, trial, reward, sure)

    async def tell_counts(
        self, counts: Mapping[str, Sequence[Any]], name: str = "", sure: bool = False
    ) -> bool:
        """As `Lab.tell_counts`; cancelled, they count all the same, so give them a `name` to be able to ask."""
        return await self._surely(self.lab.tell_counts, counts, name, sure)

    async def correct(
        self, trial: Trial | int, reward: float | Sequence[float], reason: str = "", sure: bool = False
    ) -> bool:
        """As `Lab.correct`."""
        return await self._surely(self.lab.correct, trial, reward, reason, sure)

    async def correct_counts(
        self, name: str, counts: Mapping[str, Sequence[Any]], reason: str = "", sure: bool = False
    ) -> bool:
        """As `Lab.correct_counts`."""
        return await self._surely(self.lab.correct_counts, name, counts, reason, sure)

    async def give_back(self, trial: Trial | int) -> None:
        """As `Lab.give_back`."""
        await self._surely(self.lab.give_back, trial)

    async def history(self) -> History:
        """As `Lab.history`."""
        return await self._surely(self.lab.history)

    async def status(self) -> dict[str, Any]:
        """As `Lab.status`."""
        return await self._surely(self.lab.status)

    async def cannot(self, arm: str, reason: str = "") -> int:
        """As `Lab.cannot`."""
        return await self._wait(None, self.lab.cannot, arm, reason)

    async def can_again(self, arm: str) -> None:
        """As `Lab.can_again`."""
        await self._wait(None, self.lab.can_again, arm)

    async def leave(self, wait: float | None = 0.0) -> bool:
        """As `Lab.leave`."""
        return await self._wait(None, self.lab.leave, wait)

    async def sync(self, wait: float | None = 0.0) -> None:
        """As `Lab.sync`."""
        await self._wait(None, self.lab.sync, wait)

    async def study(self) -> Overview:
        """As `Lab.study`."""
        return await self._wait(None, self.lab.study)

    @property
    def standing(self) -> Awaitable[Standing]:
        """As `Lab.standing`, to be awaited."""
        return self._wait(None, lambda: self.lab.standing)

    async def close(self) -> None:
        """Finish what was told, end what waits, and let another process use the journal. Nothing is sent."""
        await asyncio.shield(asyncio.to_thread(self._close))

    def _close(self) -> None:
        self._telling.shutdown()
        self._waiting.shutdown(wait=False, cancel_futures=True)
        for event in list(self._here):
            event.set()
        self.lab.wake()
        self._waiting.shutdown()
        self.lab.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _surely(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Do something, whether or not somebody waits until it is done."""
        done = self._telling.submit(call, *args, **named)
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            done.add_done_callback(_report)
            raise

    async def _wait(
        self, undo: Callable[[T], object] | None, call: Callable[P, T], *args: P.args, **named: P.kwargs
    ) -> T:
        """Do something that may take long; if its task is cancelled it is cut short, and undone."""
        gone = threading.Event()

        def called() -> T:
            given_up.set(gone)
            try:
                return call(*args, **named)
            finally:
                given_up.set(None)
                self._here.discard(gone)

        self._here.add(gone)
        done = self._waiting.submit(called)
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            gone.set()
            if done.cancel():
                self._here.discard(gone)
            else:
                with suppress(RuntimeError):  # it is closing, and wakes all
                    self._telling.submit(self.lab.wake)
                done.add_done_callback(lambda over: _undone(over, undo))
            raise


def _report(done: Future[T]) -> None:
    error = done.exception()
    if error is not None:
        log.warning("what a cancelled task had told was not taken: %s", error)


def _undone(done: Future[T], undo: Callable[[T], object] | None) -> None:
    if undo is not None and done.exception() is None:
        undo(done.result())


@contextmanager
def _one_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that is not waited for, and ends with what it is given."""
    thread = ThreadPoolExecutor(1, "bestarm-connecting")
    yield thread
    thread.shutdown(wait=False)


class Connecting:
    """What `connect_async` returns: to be awaited, or the beginning of an `async with`."""

    def __init__(self, open_lab: Callable[[], Lab]) -> None:
        self._open_lab = open_lab
        self._lab: AsyncLab | None = None

    def __await__(self) -> Generator[Any, None, AsyncLab]:
        return self._open().__await__()

    async def _open(self) -> AsyncLab:
        gone = threading.Event()

        def opened() -> Lab:
            given_up.set(gone)  # in this thread, which does nothing else
            return self._open_lab()

        with _one_thread() as thread:
            done = thread.submit(opened)
        try:
            return AsyncLab(await asyncio.shield(asyncio.wrap_future(done)))
        except asyncio.CancelledError:
            gone.set()
            done.add_done_callback(lambda over: _undone(over, Lab.close))
            raise

    async def __aenter__(self) -> AsyncLab:
        self._lab = await self._open()
        return self._lab

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._lab is not None
        await self._lab.close()


def _with_its_arguments(
    connect: Callable[P, Lab],
) -> Callable[[Callable[[Callable[[], Lab]], Connecting]], Callable[P, Connecting]]:
    def decorate(begin: Callable[[Callable[[], Lab]], Connecting]) -> Callable[P, Connecting]:
        @wraps(connect)
        def called(*args: P.args, **named: P.kwargs) -> Connecting:
            return begin(lambda: connect(*args, **named))

        called.__name__, called.__qualname__, called.__doc__ = begin.__name__, begin.__qualname__, begin.__doc__
        called.__module__ = begin.__module__
        return called

    return decorate


@_with_its_arguments(connect)
def connect_async(open_lab: Callable[[], Lab]) -> Connecting:
    """`connect` for asyncio, with the same arguments; the lab's verbs are awaited.

        async with bestarm.connect_async("http://host:8000", study="ligands", token="…") as lab:
            while not lab.finished:
                for trial in await lab.ask(8, wait=None):
                    await lab.tell(trial, await measure(trial.arm))

    Any number of tasks may use one lab. The verbs that `Lab` has as methods are awaited, `standing` too; the
    other properties are read as they are.
    """
    return Connecting(open_lab)
