"""A log that is replayed out of a database: what stands in it later is there already."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Correction, Entry, Upload
from bestarm.protocol.past import Memory
from bestarm.protocol.server import Server

PROBLEM = bestarm.Problem(["A", "B"], sigma=0.1)


class Whole(Memory):
    """All uploads of a log, whoever has come how far."""

    def __init__(self, log: list[Entry]) -> None:
        super().__init__()
        self.all = [entry for entry in log if isinstance(entry, Upload)]

    def uploads(self, after: int = 0, upto: int | None = None) -> Iterator[Upload]:
        return islice(iter(self.all), after, upto)


def test_a_correction_reads_only_what_stood_before_it() -> None:
    tallies = [Tally.of([4, 4], [3.2 + k / 10, 3.0]) for k in range(4)]
    log: list[Entry] = [Upload(PROBLEM.fingerprint, "lab", k + 1, one) for k, one in enumerate(tallies)]
    log.insert(2, Correction("c", "lab", "lab", 1, Tally.of([4, 4], [3.3, 3.1])))
    method = bestarm.method("sharp", PROBLEM, 2)
    server = Server(method, past=Whole(log))
    for entry in log:
        server.append(entry)
    assert (server.uploads, server.verdict) == (4, Server.replay(method, log).verdict)
