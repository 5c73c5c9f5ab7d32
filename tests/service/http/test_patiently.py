"""An export is made beside all else: outside of the writer, in one thread, and only as fast as it is read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from stored import look, pause
from uploads import batch, small_problem

from bestarm.service.http.patiently import patiently
from bestarm.service.storage import log
from bestarm.service.view.export import export_csv, export_json
from bestarm.strict_json import QUICK


def test_an_export_is_written_while_the_writer_is_busy(world: Any, monkeypatch: Any) -> None:
    storage = world.storage
    study = storage.find("ligands")
    for sequence in range(1, 12):
        storage.take(study, batch(small_problem(), "lab-a", sequence, size=1)).result()
    overview, pages = look(storage, study), []
    monkeypatch.setattr(log, "FROM", log.FROM.limit(3))
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
