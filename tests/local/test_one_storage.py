"""Ten processes on one storage, without a server, killed at will: every told reward is there exactly once."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pytest
from folders import quick_folder
from postgres import postgres
from processes import UNIT, Nursery
from toll import note
from under_fire import read_journal, sums, uploaded

import bestarm
from bestarm.service.view.exports.export_file import ExportFile
from bestarm.service.view.exports.verify import replay

KILLS = int(os.environ.get("BESTARM_KILLS", "20"))  # on each storage; `make soak` has more
SITES = [f"lab-{letter}" for letter in "abcdefghij"]
ARMS = ["A", "B", "C"]
STUDIES = ["first", "second", "last"]  # the last one never ends


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{folder / 'bestarm.db'}"
    else:
        with postgres(durable=False) as cluster:
            yield cluster.database()


def told(folder: Path) -> dict[str, int]:
    """How many rewards each site has told."""
    ledgers = {site: folder / f"{site}.ledger" for site in SITES}
    return {site: path.read_bytes().count(b"\n") if path.exists() else 0 for site, path in ledgers.items()}


@pytest.mark.slow
def test_ten_processes_and_twenty_kills(storage: str, folder: Path) -> None:
    random = Random(storage.split(":", maxsplit=1)[0])
    for study in STUDIES:
        bestarm.create_study(ARMS, name=study, storage=storage, sigma=0.3 * UNIT, agents=10).release()
    nursery = Nursery(folder, modules=["bestarm.local.inside", "bestarm.client.lab"])
    lives = 0

    def start(site: str) -> None:
        nonlocal lives
        lives += 1
        more = {"seed": lives, "done": str(folder / "done")}
        arguments = {"url": storage, "tokens": dict.fromkeys(STUDIES, ""), "folder": str(folder), "name": site}
        nursery.start(site, "site", arguments | more)

    def await_rewards(number: int) -> None:
        before, deadline = sum(told(folder).values()), monotonic() + 60
        while sum(told(folder).values()) < before + number:
            assert monotonic() < deadline, "nobody gets anywhere"
            sleep(0.02)

    def await_everybody() -> None:
        before, deadline = told(folder), monotonic() + 60
        while any(told(folder)[site] == before[site] for site in SITES):
            assert monotonic() < deadline, (before, told(folder))
            sleep(0.05)

    try:
        for site in SITES:
            start(site)
        await_everybody()
        for _ in range(KILLS):
            await_rewards(random.randint(0, 10))
            sleep(random.uniform(0.0, 0.05))
            site = random.choice(SITES)
            nursery.kill(site)
            start(site)
        await_everybody()  # nobody is kept out for long
        (folder / "done").touch()
        assert [nursery.wait(site) for site in SITES] == [0] * len(SITES)
    finally:
        nursery.close()
    note(nursery.kills, check(storage, folder))


def check(storage: str, folder: Path) -> int:
    """Ledger ⊆ journal = log for every site, study and arm; every log leads to its verdict: how many."""
    ledgers: dict[tuple[str, str], dict[str, tuple[str, float]]] = defaultdict(dict)
    for site in SITES:
        for line in (folder / f"{site}.ledger").read_text().splitlines():
            study, trial, arm, reward = line.split()
            assert trial not in ledgers[site, study]
            ledgers[site, study][trial] = (arm, float(reward))
    for study in STUDIES:
        with bestarm.open_study(storage, study) as opened:
            export = opened.export(folder / "export.json")
        verdict = replay(ExportFile(folder / "export.json")).verdict  # what `bestarm study verify` does
        assert (verdict.stopped, verdict.leader) == (export["verdict"]["stopped"], export["verdict"]["leader"])
        for site in SITES:
            journal = read_journal(folder / f"{site}-{study}.db")
            assert ledgers[site, study].items() <= journal.items()
            assert sums(journal.values()) == uploaded(export, site)
    return sum(map(len, ledgers.values()))
