"""Outcomes that another thread settles: waited for by a thread, or awaited on an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from bestarm.service.storage.pending import Pending


def in_a_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("late", [False, True])
def test_a_thread_waits_for_a_value_and_for_an_error(late: bool) -> None:
    value, error = Pending[int](), Pending[int]()
    begin = threading.Event()

    def settle() -> None:
        begin.wait()
        value.settle(7)
        error.settle(error=KeyError("gone"))

    thread = in_a_thread(settle)
    begin.set()
    if not late:
        thread.join()
    assert value.result() == 7
    with pytest.raises(KeyError, match="gone"):
        error.result()
    thread.join()
    assert value.result() == 7  # and again


def settle_in_order(pendings: list[Pending[int]]) -> None:
    for k, pending in enumerate(pendings):
        pending.settle(k)


def test_no_outcome_is_missed_however_the_threads_meet() -> None:
    pendings = [Pending[int]() for _ in range(5000)]
    thread = in_a_thread(lambda: settle_in_order(pendings))
    assert [pending.result() for pending in pendings] == list(range(5000))
    thread.join()


def test_no_outcome_is_missed_by_a_loop_however_they_meet() -> None:
    async def wait() -> list[int]:
        pendings = [Pending[int]() for _ in range(5000)]
        thread = in_a_thread(lambda: settle_in_order(pendings))
        found = [await pending for pending in pendings]
        thread.join()
        return found

    assert asyncio.run(asyncio.wait_for(wait(), 30)) == list(range(5000))


async def settle_together(waiting: list[asyncio.Task[int]], settle: Callable[[], None]) -> int:
    """Settle while the loop is busy; returns how often the loop was woken for it."""
    loop, wakes = asyncio.get_running_loop(), 0
    real = loop.call_soon_threadsafe

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal wakes
        wakes += 1
        return real(*arguments, **options)

    await asyncio.sleep(0)  # until all of them wait
    with patch.object(loop, "call_soon_threadsafe", counted):
        in_a_thread(settle).join()
    await asyncio.wait(waiting)
    return wakes


def test_the_loop_is_woken_once_for_what_arrives_together() -> None:
    async def work() -> None:
        pendings = [Pending[int]() for _ in range(40)]

        async def wait(pending: Pending[int]) -> int:
            return await pending

        waiting = [asyncio.create_task(wait(pending)) for pending in pendings]
        wakes = await settle_together(waiting, lambda: settle_in_order(pendings))
        assert wakes == 1
        assert [task.result() for task in waiting] == list(range(40))

    asyncio.run(work())


def test_one_that_gives_up_disturbs_nobody() -> None:
    async def work() -> None:
        impatient, patient = Pending[int](), Pending[int]()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await impatient

        def settle() -> None:
            impatient.settle(1)
            patient.settle(2)

        thread = in_a_thread(settle)
        assert await patient == 2
        thread.join()

    asyncio.run(work())


def test_a_loop_that_has_ended_is_left_alone() -> None:
    pending = Pending[int]()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await pending

    asyncio.run(give_up())
    pending.settle(3)
    assert pending.result() == 3
