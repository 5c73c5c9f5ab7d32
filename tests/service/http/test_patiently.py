"""An export is made beside all else: outside of the writer, in one thread, and only as fast as it is read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stored import look, pause
from uploads import ARMS, batch, small_problem

from bestarm.service.http.patiently import patiently
from bestarm.service.storage.rows import log
from bestarm.service.view.exports.export import export_csv, export_json
from bestarm.strict_json import QUICK


def test_an_export_is_written_while_the_writer_is_busy(world: Any, monkeypatch: Any) -> None:
    storage = world.storage
    study = storage.find("ligands")
    for sequence in range(1, 12):
        storage.take(study, batch(small_problem(), "lab-a", sequence, size=1)).result()
    overview, pages = look(storage, study), []
    monkeypatch.setattr(log, "TOGETHER", 3)
    real = storage._rows

    def counted(*asked: Any) -> Any:
        pages.append(asked)
        return real(*asked)

    monkeypatch.setattr(storage, "_rows", counted)
    with pause(storage):
        exported = QUICK.decode("".join(export_json(overview, storage)))
        assert len(exported["uploads"]) == 11
        assert "".join(export_csv(overview, storage)).count("\n") == 1 + 11 * 3
    assert len(pages) >= 2 * 11 // 3  # a few rows at a time


def test_pieces_are_made_one_at_a_time_in_a_thread_of_their_own_when_they_are_read() -> None:
    made: list[str] = []

    def pieces() -> Iterator[str]:
        for number in range(5):
            made.append(threading.current_thread().name)
            yield str(number)

    async def read() -> None:
        answers = [patiently(pieces(), "text/plain").body_iterator for _ in range(3)]
        firsts = [await anext(aiter(answer)) for answer in answers]
        assert firsts == ["0", "0", "0"]
        assert len(made) == 3  # nothing ahead for those who do not read
        assert [piece async for piece in answers[0]] == ["1", "2", "3", "4"]

    asyncio.run(read())
    assert len(made) == 7
    assert len(set(made)) == 1
    assert made[0].startswith("bestarm-export")


def test_uploads_do_not_wait_behind_pages_that_take_long(world: Any) -> None:
    """A viewer asked for forty reports, and a site waited 149 s for its next plan."""
    token, done = world.token(role="agent", agent="lab-a"), threading.Event()
    for _ in range(64):
        asyncio.run_coroutine_threadsafe(asyncio.to_thread(done.wait), world.local._loop)
    try:
        upload = batch(small_problem(), "lab-a", 1).to_json(ARMS)
        path = "/v1/studies/ligands/uploads"
        answered = ThreadPoolExecutor(1).submit(world.http(token).post, path, json=upload)
        assert answered.result(timeout=20).json()["position"] == 1
    finally:
        done.set()


def test_a_report_counts_as_an_export(world: Any) -> None:
    secret, exports = world.token(role="viewer"), world.app.state.service.exports
    id = world.http(secret).get("/v1/token").json()["id"]
    for _ in range(exports.by_token):
        exports.take("elsewhere", id)
    answer = world.http(secret).get("/v1/studies/ligands/report")
    assert (answer.status_code, answer.json()["code"]) == (429, "exports-token")
