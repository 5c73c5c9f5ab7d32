"""A lab for asyncio: sixteen tasks share one, and a cancelled task neither loses nor doubles anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from fake_server import open_lab
from real_server import RealServer

import bestarm
from bestarm import AsyncLab, Problem, Trial, UserError
from bestarm.client.server import patience
from bestarm.errors import ServiceError

pytestmark = pytest.mark.usefixtures("_both_ways")
PROBLEM = Problem(["A", "B", "C"], name="ligands", sigma=0.3)
MEANS = {"A": 0.9, "B": 0.3, "C": 0.1}
TASKS = 16


def reward(trial: Trial) -> float:
    return Random(trial.number).gauss(MEANS[trial.arm], 0.3)


def server() -> RealServer:
    return RealServer(PROBLEM, name="sharp")


def opened(tmp_path: Path, transport: httpx.BaseTransport, **options: Any) -> Any:
    journal = tmp_path / "lab.db"
    return bestarm.connect_async(
        "http://fake", token="token-of-lab-a", study="ligands", journal=journal, transport=transport, **options
    )


def test_sixteen_tasks_on_one_lab_to_the_verdict(tmp_path: Path) -> None:
    real, done = server(), list[int]()

    async def work(lab: AsyncLab) -> None:
        while not lab.finished:
            for trial in await lab.ask(1, wait=None):
                await asyncio.sleep(0.001)
                if not lab.finished:
                    assert await lab.tell(trial, reward(trial))
                    done.append(trial.number)

    async def main() -> None:
        async with opened(tmp_path, real) as lab:
            assert isinstance(lab, AsyncLab)
            await asyncio.gather(*(work(lab) for _ in range(TASKS)))
            assert lab.verdict is not None
            assert lab.verdict.arm == "A"
            assert (await lab.standing)["leader"] == "A"
            assert (await lab.study())["verdict"]["stopped"]
            assert len(await lab.history()) == len(done)
            assert (await lab.status())["finished"]

    asyncio.run(main())
    assert len(done) == len(set(done))


def test_the_same_verbs(tmp_path: Path) -> None:
    async def main() -> None:
        lab = await opened(tmp_path, server())
        async with lab:
            first, second, third, *_ = await lab.ask(6)
            assert lab.open[:3] == [first, second, third]
            assert lab.site == "ligands/lab-a"
            assert await lab.tell(first, 0.5)
            assert not await lab.tell(first, 0.5)
            assert await lab.correct(first, 0.6, "a slip")
            with pytest.raises(UserError, match="if that was a mistake, correct it"):
                await lab.tell(first, 0.7)
            await lab.give_back(second)
            await lab.cannot("C", "used up")
            await lab.can_again("C")
            assert await lab.leave()
            assert await lab.tell_counts({"A": (4, 2.0), "B": (4, 2.0)}, "monday")
            assert await lab.correct_counts("monday", {"A": (4, 2.1), "B": (4, 2.0)}, "late")
            await lab.sync()
            assert (lab.waiting_for, lab.closed, lab.finished, lab.verdict) == ("", "", False, None)
            assert set(lab.split) <= set(lab.terms.arms)
            assert lab.notice
        with bestarm.connect("http://fake", token="t", journal=tmp_path / "lab.db") as again:
            assert again.joined  # the journal is free again

    asyncio.run(main())


class Gate(httpx.BaseTransport):
    """A network that holds what is sent to some places until it is opened."""

    def __init__(self, inner: httpx.BaseTransport, where: str) -> None:
        self.inner, self.where = inner, where
        self.arrived, self.opened = threading.Event(), threading.Event()
        self.shut = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.shut and request.url.path.endswith(self.where):
            self.arrived.set()
            assert self.opened.wait(20)
        return self.inner.handle_request(request)


async def cancelled(work: Callable[[], Any], when: threading.Event | None = None) -> None:
    """A task that is cancelled once something has happened, or at its first wait."""
    task = asyncio.ensure_future(work())
    await (asyncio.sleep(0) if when is None else asyncio.to_thread(when.wait, 20))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_trials_of_a_cancelled_ask_are_the_next_ones(tmp_path: Path) -> None:
    gate = Gate(server(), "/join")

    async def main() -> None:
        async with opened(tmp_path, gate) as lab:
            gate.shut = True
            await cancelled(lambda: lab.ask(6), gate.arrived)
            gate.opened.set()
            while not lab.open:  # what the cancelled one goes on to fetch, in its thread
                await asyncio.sleep(0.01)
            numbers = [trial.number for trial in lab.open]
            trials = await lab.ask(len(numbers))
            assert [trial.number for trial in trials] == numbers

    asyncio.run(main())


@pytest.mark.parametrize("when", ["at once", "while its batch is sent"])
def test_a_reward_of_a_cancelled_tell_counts_once(tmp_path: Path, when: str) -> None:
    real = server()
    gate = Gate(real, "/uploads")

    async def main() -> None:
        async with opened(tmp_path, gate) as lab:
            *trials, last = await lab.ask(6)
            for trial in trials:
                await lab.tell(trial, reward(trial))
            gate.shut = True
            await cancelled(lambda: lab.tell(last, reward(last)), None if when == "at once" else gate.arrived)
            if when == "at once":  # a task that never began has told nothing
                assert await asyncio.to_thread(gate.arrived.wait, 20)
            assert not await lab.tell(last, reward(last))
            gate.opened.set()

    asyncio.run(main())
    with bestarm.connect(
        "http://fake", token="token-of-lab-a", journal=tmp_path / "lab.db", transport=real
    ) as lab:
        lab.leave()
        assert len(lab.history()) == real.server.samples == 6


@pytest.mark.parametrize("verb", ["ask", "sync", "connect"])
def test_who_waits_for_a_server_can_be_cancelled(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "pauses", lambda chance: iter([50.0] * 9))  # nobody would sit through these
    real, waits = server(), threading.Event()
    if verb == "connect":
        real.online = False

    async def main() -> None:
        connecting = opened(tmp_path, real, wait=None, waiting=lambda *_: waits.set())
        if verb == "connect":
            await cancelled(connecting._open, waits)
            return
        async with connecting as lab:
            await lab.ask(3)
            real.online = False
            await cancelled(lambda: lab.ask(1, wait=None) if verb == "ask" else lab.sync(wait=None), waits)

    asyncio.run(asyncio.wait_for(main(), 40))
    real.online = True
    with bestarm.connect(
        "http://fake", token="token-of-lab-a", journal=tmp_path / "lab.db", transport=real
    ) as lab:
        assert lab.joined


def test_closing_ends_those_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "pauses", lambda chance: iter([50.0] * 9))
    waits = threading.Event()

    async def main() -> None:
        lab = await opened(tmp_path, real, waiting=lambda *_: waits.set())
        await lab.ask(3)
        real.online = False
        asking = [asyncio.ensure_future(lab.ask(1, wait=None)) for _ in range(TASKS)]
        await asyncio.to_thread(waits.wait, 20)
        await lab.close()
        assert all(
            got == [] or isinstance(got, asyncio.CancelledError)
            for got in await asyncio.gather(*asking, return_exceptions=True)
        )

    real = server()
    asyncio.run(asyncio.wait_for(main(), 40))


def test_those_who_tell_never_queue_behind_those_who_wait(tmp_path: Path) -> None:
    """More tasks wait for trials than there are threads for them; the rewards that end their waiting pass."""
    real = server()

    async def main() -> None:
        async with AsyncLab(open_lab(tmp_path / "lab.db", real)) as lab:
            *trials, last = await lab.ask(6)
            real.online = False
            asking = [asyncio.ensure_future(lab.ask(1, wait=None)) for _ in range(100)]
            await asyncio.sleep(0.1)
            for trial in trials:
                assert await lab.tell(trial, reward(trial))
            real.online = True
            assert await lab.tell(last, reward(last))
            got, _ = await asyncio.wait(asking, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            assert got
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    asyncio.run(main())


def test_an_error_is_raised_where_it_is_awaited(tmp_path: Path) -> None:
    real = server()
    real.online = False

    async def main() -> None:
        with pytest.raises(ServiceError, match="can't be reached"):
            async with opened(tmp_path, real):
                raise AssertionError("nobody is here")
        with pytest.raises(UserError, match="it must look like http"):
            await bestarm.connect_async("laboratory", token="x")

    asyncio.run(main())


def test_a_storage_will_do(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ligands.db'}"
    bestarm.create_study(["A", "B", "C"], storage=url, name="ligands", sigma=0.3).release()

    async def main() -> None:
        async with bestarm.connect_async(url, agent="lab-a") as lab:
            trials = await asyncio.gather(*(lab.ask(1) for _ in range(4)))
            assert len({trial.number for (trial,) in trials}) == 4

    asyncio.run(main())
