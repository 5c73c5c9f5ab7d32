"""A server is killed (kill -9) before every statement of a change, before its commit and after it.

The change is then in the log whole or not at all, and made again it is there once.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from stored import create, look, send

from bestarm.core.tally import Tally
from bestarm.problem import Problem
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Upload
from bestarm.service.storage import Storage

CLEAN = multiprocessing.get_context("forkserver")
CLEAN.set_forkserver_preload(["bestarm.service.storage", "stored"])
PROBLEM = Problem(["A", "B", "C"], sigma=0.3, name="ligands")
RIGHT = Tally.of([3, 3, 3], [1.5, 1.25, 1.0])
FIRST = Upload(PROBLEM.fingerprint, "lab-a", 1, Tally.of([3, 3, 3], [1.75, 1.25, 1.0]))
CHANGES: dict[str, Any] = {
    "correction": Correction("c1", "lab-a", "lab-a", 1, RIGHT, "a slip"),
    "arm added": ArmAdded("a1", "admin 1", "X", None, "it arrived"),
    "arm withdrawn": ArmWithdrawn("w1", "admin 1", "B", "it is toxic"),
    "counts": Upload(PROBLEM.fingerprint, "lab-a", 2, Tally.of([5000, 5000, 5000], [2500.5, 2400.0, 2300.0])),
}


def change(storage: Storage, what: str) -> None:
    study = storage.find("ligands")
    assert study is not None
    entry = CHANGES[what]
    if isinstance(entry, Upload):
        storage.take(study, entry).result()
    else:
        storage.change(study, entry).result()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def live(url: str, what: str, point: int) -> None:
    """A process that makes a change and is killed at a point of it; it ends well if there are fewer points."""
    storage = Storage(url)
    study = storage.find("ligands")
    assert study is not None
    storage.look(study).result()
    passed = count()

    def at_a_point(*_: object) -> None:
        if next(passed) == point:
            die()

    event.listen(storage.engine, "before_cursor_execute", at_a_point)
    event.listen(storage.engine, "commit", at_a_point)
    change(storage, what)
    at_a_point()  # after the commit, before anybody hears of it
    storage.close()


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_there_whole_or_not_at_all(what: str, tmp_path: Path) -> None:
    clean = tmp_path / "clean.db"
    storage = Storage(f"sqlite:///{clean}")
    send(storage, create(storage, PROBLEM), FIRST)
    storage.close()
    shutil.copy(clean, tmp_path / "wanted.db")
    storage = Storage(f"sqlite:///{tmp_path / 'wanted.db'}")
    change(storage, what)
    wanted = seen(storage)
    storage.close()
    for point in count():
        file = tmp_path / f"{point}.db"
        shutil.copy(clean, file)
        process = CLEAN.Process(target=live, args=(f"sqlite:///{file}", what, point))
        process.start()
        process.join()
        storage = Storage(f"sqlite:///{file}")
        assert seen(storage)["length"] in (1, 2)
        change(storage, what)  # whoever got no answer says it again
        change(storage, what)
        assert seen(storage) == wanted
        storage.close()
        if process.exitcode == 0:
            assert point > 3  # there was a point before each statement, the commit, and the answer
            return
        assert process.exitcode == -signal.SIGKILL


def seen(storage: Storage) -> dict[str, Any]:
    study = storage.find("ligands")
    assert study is not None
    overview = look(storage, study)
    return {
        "length": overview.length,
        "arms": overview.method.problem.arms,
        "total": overview.total.to_json(overview.arms),
        "verdict": overview.verdict,
        "kinds": [one.entry for one in overview.happened],
    }
