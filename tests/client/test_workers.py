"""Many workers that share one `Lab`: nobody waits while there is something to do."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random

import pytest
from fake_server import open_lab
from real_server import RealServer

from bestarm import Lab, Problem, Trial
from bestarm.client.server import patience
from bestarm.client.server.patience import Patience

pytestmark = pytest.mark.usefixtures("_both_ways")

WORKERS = 16
PROBLEM = Problem(["A", "B", "C"], name="ligands", sigma=3.0)


def run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_sixteen_workers_never_wait_for_each_other(tmp_path: Path) -> None:
    server, waited, done = RealServer(PROBLEM, name="sharp"), [], list[int]()
    seen = Patience(lambda reason, pause: waited.append(reason))
    with open_lab(tmp_path / "lab.db", server, patience=seen) as lab:

        def work(seed: int) -> None:
            for _ in range(12):
                (trial,) = lab.ask(1, wait=None)
                time.sleep(0.002)
                assert lab.tell(trial, Random(trial.number + seed).gauss(0.5, 0.3))
                done.append(trial.number)

        run([threading.Thread(target=work, args=(seed,)) for seed in range(WORKERS)])
        assert waited == []
        assert sorted(done) == list(range(1, 12 * WORKERS + 1))
        lab.leave()
    assert server.server.samples == 12 * WORKERS  # each counts once
    assert max(upload.tally.samples for upload in server.server.log) >= 12  # plans as large as the crowd


@pytest.mark.parametrize("how", ["a trial is given back", "a batch is answered"])
def test_who_waits_is_woken(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "pauses", lambda chance: iter([50.0] * 9))  # nobody would sit through these
    server, got = RealServer(PROBLEM, name="sharp"), list[Trial]()
    waiting = threading.Event()
    with open_lab(tmp_path / "lab.db", server, patience=Patience(lambda *_: waiting.set())) as lab:
        trials = lab.ask(3)
        server.online = False
        asker = threading.Thread(target=lambda: got.extend(lab.ask(1, wait=None)))
        asker.start()
        assert waiting.wait(timeout=20)
        if how == "a trial is given back":
            lab.give_back(trials[0])
        else:
            server.online = True
            for trial in trials:
                lab.tell(trial, 0.5)
        asker.join(timeout=20)
        assert not asker.is_alive()
    assert [trial.number for trial in got] == [4]


def test_an_upload_that_was_made_while_another_was_sent_is_sent_too(tmp_path: Path) -> None:
    server = RealServer(PROBLEM, name="sharp")
    with open_lab(tmp_path / "lab.db", server, plate=6) as lab:
        trials = lab.ask(12)
        told_first = threading.Event()
        call = lab.connection.call

        def slow(method: str, path: str, json: object = None) -> dict[str, object]:
            if path.endswith("/uploads") and not told_first.is_set():
                told_first.set()
                other.join(timeout=20)  # it fills its batch meanwhile, and does not wait for this one
                assert not other.is_alive()
            return call(method, path, json)

        def fill(part: list[Trial], lab: Lab) -> None:
            for trial in part:
                lab.tell(trial, 0.5)

        def fill_then() -> None:
            assert told_first.wait(20)
            fill(trials[6:], lab)

        other = threading.Thread(target=fill_then)
        lab.connection.call = slow  # type: ignore[method-assign]
        other.start()
        fill(trials[:6], lab)
        assert lab.status()["unsent"] == 0
    assert [upload.tally.samples for upload in server.server.log] == [6, 6]
