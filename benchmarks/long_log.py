"""Long logs and wide ones, written by a storage in this process, for real servers to start on."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Upload
from bestarm.protocol.version import HEADER, VERSION
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import Grant, Role
from bestarm.service.storage.study.overview import Charter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from postgres import postgres

SITES = 16
TOGETHER = 2_000  # uploads that are under way at a time


@contextmanager
def storage_url(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty storage: sqlite or postgresql."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'scale.db'}"
    else:
        with postgres(durable=True) as cluster:
            yield cluster.database()


def problem(name: str, arms: int) -> bestarm.Problem:
    return bestarm.Problem([f"arm-{k}" for k in range(arms)], sigma=0.3, name=name)


def batch(about: bestarm.Problem, agent: str, sequence: int) -> Upload:
    """All arms alike, so that no study stops; of many arms few. The same numbers give the same batch."""
    chance = random.Random(f"{agent} {sequence}")
    several = chance.sample(range(about.K), min(about.K, 5))
    rows = {arm: (2, 2 * chance.gauss(0.5, 0.2)) for arm in several}
    return Upload(about.fingerprint, agent, sequence, Tally.from_rows(rows, about.K))


def write(storage: Storage, name: str, arms: int, uploads: int) -> Charter:
    """A study with so many uploads of SITES labs, and progress on stderr."""
    about = problem(name, arms)
    study = storage.create(bestarm.method("sharp", about, SITES)).result().study
    first = Upload(about.fingerprint, "lab-0", 1, Tally.of([2] * arms, [1.0] * arms))
    waiting = [storage.take(study, first)]
    for number in range(1, uploads):
        agent, sequence = f"lab-{number % SITES}", number // SITES + 1
        waiting.append(storage.take(study, batch(about, agent, sequence)))
        if len(waiting) >= TOGETHER:
            for one in waiting:
                one.result()
            waiting = []
            print(f"\r{name}: {number:,} of {uploads:,}", end="", file=sys.stderr, flush=True)
    for one in waiting:
        one.result()
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    return study


class Site:
    """A lab that goes on where the log ends, each upload on a connection of its own."""

    def __init__(self, storage: Storage, study: Charter, agent: str) -> None:
        self.study, self.agent = study, agent
        self.sequence = len(storage.receipts(study, agent, 0, 10**9))
        token, _ = storage.grant(Grant(Role.AGENT, agent), study, "benchmark").result()
        headers = {"Authorization": f"Bearer {token}", HEADER: str(VERSION)}
        alone = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(headers=headers, limits=alone, timeout=60, trust_env=False)

    def send(self, url: str, sequence: int) -> float:
        """How many seconds it takes until this batch is answered; a server that can't yet is asked again."""
        path = f"{url}/v1/studies/{self.study.name}/uploads"
        body = batch(self.study.problem, self.agent, sequence).to_json(self.study.problem.arms)
        began = time.perf_counter()
        while True:
            with suppress(httpx.TransportError):  # it was cut off, or is not there yet
                answer = self.http.post(path, json=body)
                if answer.status_code == 200:
                    return time.perf_counter() - began
                if answer.status_code != 503:
                    raise RuntimeError(answer.text)
            time.sleep(0.1)

    def next(self, url: str) -> float:
        """The same, of the next batch."""
        self.sequence += 1
        return self.send(url, self.sequence)
