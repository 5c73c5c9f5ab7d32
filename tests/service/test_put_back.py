"""A server that is put back from a backup while a site goes on: the site notices, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from serving import serving
from uploads import small_problem

import bestarm
from bestarm.client.lab import Lab
from bestarm.protocol.messages import Trial

PROBLEM = small_problem("screen")


def plates(lab: Lab, many: int) -> list[Trial]:
    """So many batches, and the trials of the last."""
    trials: list[Trial] = []
    for _ in range(many):
        trials = lab.ask(lab.agent.plan.size)
        for trial in trials:
            lab.tell(trial, 0.5 + 0.01 * (trial.number % 7))
    return trials


def test_a_site_that_goes_on_running_sends_again_what_was_lost(tmp_path: Path) -> None:
    database, copy = tmp_path / "bestarm.db", tmp_path / "copy.db"
    with serving(folder=tmp_path) as server:
        with server.admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict(), "agents": 3})
            made = admin.call("POST", "/v1/studies/screen/tokens", {"role": "agent", "agent": "lab-a"})
        lab = bestarm.connect(server.url, study="screen", token=made["token"], journal=tmp_path / "lab.db")
        plates(lab, 2)
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        lost = plates(lab, 2)
        port = server.url.rpartition(":")[2]
    for file in tmp_path.glob("bestarm.db-*"):
        file.unlink()
    shutil.copyfile(copy, database)

    with serving("--port", port, folder=tmp_path) as server, closing(lab):
        lab.correct(lost[0], 0.55, "typing mistake")  # of a batch that the server does not have
        plates(lab, 1)
        assert "`bestarm study restored screen`" in lab.waiting_for
        assert lab.status()["corrections"] == lab.status()["unsent"] == 1  # nothing was given up
        with server.admin() as admin:
            admin.call("POST", "/v1/studies/screen/restored", {"reason": "the disk failed"})
            lab.sync()
            assert lab.status()["corrections"] == lab.status()["unsent"] == 0
            assert lab.audit().holds
            log = admin.call("GET", "/v1/studies/screen/export")["entries"]
    assert [one["sequence"] for one in log if one["kind"] == "uploaded"] == [1, 2, 3, 4, 5]
    assert [(one["sequence"], one["reason"]) for one in log if one["kind"] == "corrected"] == [
        (4, "typing mistake")
    ]
    last = [one["kind"] for one in log][-2:]
    assert last == ["corrected", "uploaded"]  # no mistake is left that the next batch could decide with
