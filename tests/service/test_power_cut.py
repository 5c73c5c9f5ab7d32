"""The power goes off for servers and sites, and the disk has only what was synced: nothing told is lost."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from random import Random
from time import sleep

import pytest
from power import cut_power, forgetful_disk
from processes import Nursery
from toll import note
from under_fire import SITES, STUDIES, Federation, check_rewards, check_verdicts

CUTS = int(os.environ.get("BESTARM_CUTS", "4"))  # `make soak` has more
ON_DISK = (".db", ".db-wal", ".ledger")


@pytest.mark.slow
def test_what_was_told_survives_a_power_cut(tmp_path: Path) -> None:
    random = Random(11)
    nursery = Nursery(tmp_path, forgetful_disk(tmp_path))
    lost = 0
    try:
        federation = Federation(nursery, f"sqlite:///{tmp_path / 'bestarm.db'}", tmp_path)
        for _ in range(CUTS):
            federation.await_rewards(random.randint(20, 60))
            sleep(random.uniform(0.0, 0.02))
            for name in ("server", *SITES):
                nursery.kill(name)
            lost += cut_power(tmp_path, ON_DISK)
            for name in ("server", *SITES):
                federation.start(name)
        federation.await_rewards(20)
        federation.finish()
        exports = {study: federation.export(study) for study in STUDIES}
        federation.admin.close()
    finally:
        nursery.close()
    assert lost > 0  # the cuts did something
    check_verdicts(exports, stopped=1)
    note(nursery.kills, check_rewards(exports, tmp_path, told=15 * CUTS))


@pytest.mark.parametrize(("synchronous", "kept"), [("FULL", 3), ("OFF", 0)])
def test_the_disk_forgets_what_was_not_synced(tmp_path: Path, synchronous: str, kept: int) -> None:
    """The shim has teeth: without syncs a commit is lost."""
    nursery = Nursery(tmp_path, forgetful_disk(tmp_path))
    path = tmp_path / "some.db"
    try:
        nursery.start("writer", "writer", {"path": str(path), "synchronous": synchronous})
        assert nursery.wait("writer") == 0
    finally:
        nursery.close()
    cut_power(tmp_path, ON_DISK)
    found = 0
    if path.exists() and path.stat().st_size:
        with sqlite3.connect(path) as database:
            found = len(database.execute("SELECT name FROM sqlite_master WHERE name = 'kept'").fetchall())
            found = database.execute("SELECT count(*) FROM kept").fetchone()[0] if found else 0
        database.close()
    assert found == kept
