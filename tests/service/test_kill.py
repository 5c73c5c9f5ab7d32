"""Servers and sites are killed a hundred times; every reward that was told is in the log exactly once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import sleep

import pytest
from postgres import postgres
from processes import Nursery, open_ledger
from toll import note
from under_fire import SITES, STUDIES, Federation, check_rewards, check_verdicts

ROUNDS = int(os.environ.get("BESTARM_KILLS", "12"))  # on each storage; `make soak` goes a hundred


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'bestarm.db'}"
    else:
        with postgres(durable=False) as cluster:  # it is not PostgreSQL that is killed
            yield cluster.database()


def test_a_hundred_kills(storage: str, tmp_path: Path) -> None:
    random = Random(storage.split(":", maxsplit=1)[0])
    nursery = Nursery(tmp_path)
    try:
        federation = Federation(nursery, storage, tmp_path)
        for _ in range(ROUNDS):
            federation.await_rewards(random.randint(0, 30))
            sleep(random.uniform(0.0, 0.02))
            some = random.sample(SITES, random.randint(1, len(SITES)))
            federation.kill_and_restart(random.choice([["server"], some, some, ["server", *some]]))
        federation.finish()
        exports = {study: federation.export(study) for study in STUDIES}
        federation.admin.close()
    finally:
        nursery.close()
    check_verdicts(exports, stopped=2)
    note(nursery.kills, check_rewards(exports, tmp_path, told=20 * ROUNDS))


def test_a_torn_line_of_the_ledger_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "lab-a.ledger"
    for before, after in [(b"", b""), (b"study-1 1", b""), (b"a\nb\n", b"a\nb\n"), (b"a\nb\nstu", b"a\nb\n")]:
        path.write_bytes(before)
        ledger = open_ledger(path)
        os.write(ledger, b"c\n")
        os.close(ledger)
        assert path.read_bytes() == after + b"c\n"
