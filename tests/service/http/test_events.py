"""The event stream: positions as ids, nothing missing after a break, and an end when it is time."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from typing import Any

import pytest
from uploads import batch, small_problem

import bestarm
from bestarm.service.http.events import Hub, Page, Watch, follow
from bestarm.service.storage.study.ledger import Ledger
from bestarm.service.storage.study.overview import Charter, Judged

PROBLEM = small_problem()
FIELDS = ["position", "agent", "sequence", "samples", "communications", "leader", "challenger"]
FIELDS += ["breaking_index", "evidence", "stopped", "received_at"]
FRAME = re.compile(r"id: (\d+)\nevent: (\w+)\ndata: (.*)\n\n")


def parse(text: str) -> list[tuple[int, str, Any]]:
    """The frames of a stream; everything in it must be one, or a comment."""
    assert re.sub(r": [^\n]*\n\n", "", FRAME.sub("", text)) == ""
    return [(int(place), kind, json.loads(data)) for place, kind, data in FRAME.findall(text)]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(
        Charter(1, "ligands", PROBLEM, bestarm.method("sharp", PROBLEM, 4), "2026-01-01T00:00:00.000Z")
    )


def grow(ledger: Ledger, *sizes: int) -> None:
    for size in sizes:
        sequence = ledger.server.sequences.get("lab-a", 0) + 1
        ledger.append(batch(PROBLEM, "lab-a", sequence, size=size), "2026-01-01T00:00:00.000Z", 100)


def page_of(ledger: Ledger) -> Page:
    async def page(place: int) -> list[Judged]:
        return [one for one in ledger.history.all if one.position > place]

    return page


async def collect(hub: Hub, watch: Watch, ledger: Ledger, after: int, frames: int) -> str:
    """What a stream says until it has said so many frames."""
    text = ""
    async for part in follow(hub, watch, after, 3.0, ledger.overview({}), page_of(ledger)):
        assert part is not None, f"nothing more came after {text!r}"
        text += part
        if len(FRAME.findall(text)) >= frames:
            break
    return text


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_stream_starts_where_it_was_left(ledger: Ledger, after: int) -> None:
    async def scenario() -> None:
        hub = Hub()
        grow(ledger, *[1] * 7)
        with hub.watch(ledger.study) as watch:
            told = parse(await collect(hub, watch, ledger, after, 7 - after))
        assert [place for place, _, _ in told] == list(range(after + 1, 8))
        first = told[0][2]
        assert first["samples"] == 3 * (after + 1)
        assert list(first) == FIELDS

    asyncio.run(scenario())


def test_a_stream_goes_on_while_the_log_grows_and_misses_nothing(ledger: Ledger) -> None:
    async def scenario() -> None:
        hub = Hub()
        hub.open()
        with hub.watch(ledger.study) as watch:
            reading = asyncio.create_task(collect(hub, watch, ledger, 0, 300))
            for _ in range(30):
                grow(ledger, *[1] * 10)
                await asyncio.to_thread(hub.grown, ledger)
                await asyncio.sleep(0)
            told = [place for place, kind, _ in parse(await reading) if kind == "upload"]
        assert told[:299] == list(range(1, 300))
        assert not hub.watches

    asyncio.run(scenario())


def test_the_stop_follows_the_upload_that_settled_it_and_is_said_to_latecomers(ledger: Ledger) -> None:
    async def scenario() -> None:
        hub = Hub()
        grow(ledger, 1, 400, 1)
        assert ledger.stopped_at == 2
        with hub.watch(ledger.study) as watch:
            whole = parse(await collect(hub, watch, ledger, 0, 4))
            cut_off = parse(await collect(hub, watch, ledger, 2, 2))
            late = parse(await collect(hub, watch, ledger, 3, 1))
        assert [(place, kind) for place, kind, _ in whole] == [
            (1, "upload"),
            (2, "upload"),
            (2, "stop"),
            (3, "upload"),
        ]
        assert [(place, kind) for place, kind, _ in cut_off] == [(2, "stop"), (3, "upload")]
        assert [(place, kind) for place, kind, _ in late] == [(2, "stop")]
        assert whole[2][2]["arm"] == "A"
        assert late[0][2] == whole[2][2] == cut_off[0][2]

    asyncio.run(scenario())


def test_an_idle_stream_gives_a_sign_of_life_and_ends_with_the_server(ledger: Ledger) -> None:
    async def scenario() -> None:
        hub = Hub()
        signs = []
        with hub.watch(ledger.study) as watch:
            async for part in follow(hub, watch, 0, 0.01, ledger.overview({}), page_of(ledger)):
                signs.append(part)
                if len(signs) == 3:
                    hub.close()
        assert signs == [None] * 3

    asyncio.run(scenario())


def test_only_what_was_committed_is_told(ledger: Ledger) -> None:
    """The ledger grows before the commit; a stream sees it after."""

    async def scenario() -> None:
        hub = Hub()
        hub.open()
        grow(ledger, 1)
        with hub.watch(ledger.study) as watch:
            stream = follow(hub, watch, 0, 0.05, ledger.overview({}), page_of(ledger))
            first = await anext(stream)
            assert len(parse(first or "")) == 1
            grow(ledger, 1)
            hub.grown(ledger)
            grow(ledger, 1)  # and this one is not committed
            second = await anext(stream)
            assert [place for place, _, _ in parse(second or "")] == [2]
            assert await anext(stream) is None

    asyncio.run(scenario())


def test_a_stream_over_http_ends_when_its_token_is_revoked(make_world: Any) -> None:
    world = make_world(keep_alive=0.05)
    world.create()
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    viewer = world.admin.call("POST", "/v1/studies/ligands/tokens", {"role": "viewer"})
    for sequence in (1, 2):
        lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", sequence).to_json(PROBLEM.arms))

    async def read_until_the_end() -> Any:
        # The transport reads an answer to its end, which comes when the token is worthless.
        revoked = asyncio.to_thread(world.admin.call, "DELETE", f"/v1/tokens/{viewer['id']}")
        asyncio.get_running_loop().call_later(0.3, lambda: tasks.append(asyncio.create_task(revoked)))
        headers = {"Authorization": f"Bearer {viewer['token']}", "Last-Event-ID": "1"}
        client = world.http()
        return await asyncio.to_thread(client.get, "/v1/studies/ligands/events", headers=headers)

    tasks: list[Any] = []
    answer = asyncio.run(read_until_the_end())
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert [place for place, _, _ in parse(answer.text)] == [2]
    assert ": nothing new" in answer.text
    assert world.app.state.service.streams.under_way == 0


def test_a_stream_ends_with_its_token_even_while_uploads_arrive(make_world: Any) -> None:
    world = make_world(keep_alive=30.0)  # so that nothing but uploads wakes the stream
    world.create()
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    viewer = world.admin.call("POST", "/v1/studies/ligands/tokens", {"role": "viewer"})
    over = threading.Event()

    def upload() -> None:
        for sequence in itertools.count(1):
            if over.is_set():
                return
            body = batch(PROBLEM, "lab-a", sequence, size=1).to_json(PROBLEM.arms)
            lab.call("POST", "/v1/studies/ligands/uploads", body)
            if sequence == 3:
                world.admin.call("DELETE", f"/v1/tokens/{viewer['id']}")
            over.wait(0.1)

    uploading = threading.Thread(target=upload)
    uploading.start()
    try:
        headers = {"Authorization": f"Bearer {viewer['token']}"}
        answer = world.http().get("/v1/studies/ligands/events", headers=headers, timeout=20)
    finally:
        over.set()
        uploading.join()
    assert 1 <= len(parse(answer.text)) <= 5
