"""Whoever asks for much at once waits for himself: uploads of others go on, and no memory fills."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stored import create, pause
from uploads import batch, small_problem

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Upload
from bestarm.service.http.events import PACE, Watch
from bestarm.service.http.patiently import shown
from bestarm.service.http.turns import Turns
from bestarm.service.storage.rows import log
from bestarm.service.storage.study.overview import Judged

ARMS = [f"arm-{k}" for k in range(5_000)]
UPLOADS = 9


def test_each_caller_has_one_turn_at_a_time_and_others_have_theirs() -> None:
    inside: list[str] = []

    async def call(turns: Turns, key: str) -> None:
        async with turns.of(key):
            assert key not in inside
            inside.append(key)
            await asyncio.sleep(0.001)
            inside.remove(key)

    async def all_of_them() -> None:
        turns = Turns()
        calls = [asyncio.create_task(call(turns, key)) for key in "aaabbbccc"]
        await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.sleep(0)
        assert inside == ["a", "b", "c"]
        await asyncio.gather(*calls, return_exceptions=True)
        assert not turns._turns
        assert not turns._callers

    asyncio.run(all_of_them())


def test_a_site_has_one_place_in_the_line(world: Any) -> None:
    """A hundred joins with other plates each were a hundred plans in a row, and all others waited for them."""
    lab = world.token(role="agent", agent="lab-a")
    with ThreadPoolExecutor(20) as threads:
        with pause(world.storage):
            joins = [
                threads.submit(world.http(lab).post, "/v1/studies/ligands/join", json={"plate": 6 + number})
                for number in range(20)
            ]
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                assert world.storage.waiting <= 1
        assert {join.result().status_code for join in joins} == {200}


def test_what_takes_long_to_show_is_made_one_after_the_other() -> None:
    at_work: set[str] = set()

    def page() -> dict[str, int]:
        name = threading.current_thread().name
        assert not at_work
        at_work.add(name)
        time.sleep(0.01)
        at_work.discard(name)
        return {"made": 1}

    async def asked() -> list[bytes]:
        return [bytes(answer.body) for answer in await asyncio.gather(*(shown(page) for _ in range(5)))]

    assert asyncio.run(asked()) == [b'{"made":1}'] * 5


def test_rows_of_many_arms_are_read_and_sent_a_few_at_a_time(world: Any) -> None:
    """Receipts of full batches of 10,000 arms were 60 MB in one answer, and uploads waited 31 s for it."""
    problem = bestarm.Problem(ARMS, name="wide", sigma=0.3)
    storage, study = world.storage, create(world.storage, problem)
    for sequence in range(1, UPLOADS + 1):
        tally = Tally.from_rows({sequence: (1, 0.5)}, problem.K)
        storage.take(study, Upload(problem.fingerprint, "lab-a", sequence, tally)).result()
    most, asked, real = log.together(problem.K), [], storage._rows
    assert most == 4

    def counted(*question: Any) -> Any:
        found = real(*question)
        asked.append(len(found))
        return found

    storage._rows = counted
    overview = storage.look(study).result()
    assert len(list(storage.entries(study, overview.length))) == UPLOADS
    assert max(asked) == most
    lab = world.http(world.token("wide", role="agent", agent="lab-a"))
    found: list[int] = []
    while page := lab.get(f"/v1/studies/wide/receipts?after={len(found)}").json()["uploads"]:
        assert len(page) <= most
        found += [one["sequence"] for one in page]
    assert found == list(range(1, UPLOADS + 1))
    viewer = world.http(world.token("wide", role="viewer"))
    assert len(viewer.get("/v1/studies/wide/sites/lab-a").json()["batches"]) == most


def test_many_streams_leave_time_for_uploads(world: Any) -> None:
    """Four hundred streams of a busy study made an upload take ten times as long."""
    study = create(world.storage, small_problem("busy"))
    taken = world.storage.take(study, batch(small_problem("busy"), "lab-a", 1)).result()
    assert taken.position == 1
    (first,) = world.storage.judged(study)

    async def woken(streams: int) -> int:
        watch, times = Watch(study), 0
        watch.streams = streams

        async def follow() -> None:
            nonlocal times
            while await watch.wait(1.0):
                times += 1
                if watch.uploads == 100:
                    return

        following = asyncio.create_task(follow())
        for number in range(1, 101):
            await asyncio.sleep(0)
            watch.update([at(first, number)], number, number)
        await following
        assert [one.position for one in watch.after(0)] == list(range(1, 101))
        return times

    began = time.monotonic()
    assert asyncio.run(woken(400)) <= 2
    assert time.monotonic() - began < 400 * PACE + 1.0
    assert asyncio.run(woken(0)) > 20


def at(judged: Judged, position: int) -> Judged:
    """The same after another upload."""
    values = {name: getattr(judged, name) for name in judged.__slots__}
    return Judged(**values | {"position": position})
