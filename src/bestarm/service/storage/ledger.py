"""One study in memory: the replay of its log, and what was said at every position of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.errors import Refused
from bestarm.methods import Method, Verdict
from bestarm.problem import Problem
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import MOST_PULLS, Conflict, Download, Gap, Stop
from bestarm.protocol.server import Server

COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class OutOfRange(Exception):
    """Numbers that floating point can't compute with. The ledger that raised it must be thrown away."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study is about; it never changes."""

    id: int
    name: str
    problem: Problem
    method: Method
    created_at: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An upload in the log and what the server knew after it; `samples` are those of the total."""

    position: int
    agent: str
    sequence: int
    samples: int
    verdict: Verdict
    received_at: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer to an upload: its place in the log, and the reply of the protocol.

    `text` is its tally as JSON if the upload is new, to be written to the log.
    """

    position: int
    reply: Download | Stop
    text: str | None = None

    @property
    def new(self) -> bool:
        """Whether the log did not have it before."""
        return self.text is not None


@dataclass(frozen=True, slots=True)
class Site:
    """What one agent has sent, and when it last did."""

    uploads: int = 0
    samples: int = 0
    last_upload: str = ""
    position: int = 0  # of its last upload in the log
    bytes: int = 0  # of its uploads, as JSON
    frame: int = 0  # of those bytes, the ones that come with every upload


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A study as of one commit. `entries` and `log` may have grown since: only the first `uploads` count."""

    study: Study
    closed: bool
    uploads: int
    entries: Sequence[Entry]
    log: Sequence[Upload]
    total: Tally
    verdict: Verdict
    stopped_at: int | None
    sites: dict[str, Site]
    joined: dict[str, str]

    @property
    def state(self) -> str:
        """`closed`, `stopped` or `open`."""
        return "closed" if self.closed else "open" if self.stopped_at is None else "stopped"

    @property
    def communications(self) -> int:
        """Uploads and the downloads that answered them."""
        return messages(self.uploads, self.stopped_at or 0)


class Ledger:
    """Replays a study's log and takes its next uploads. It decides nothing: `protocol.Server` does."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.server = Server(study.method)
        self.entries: list[Entry] = []
        self.sites: dict[str, Site] = {}

    @property
    def stopped_at(self) -> int | None:
        """The position of the upload that settled the study."""
        return self.server.stopped_at

    @property
    def reply(self) -> Download | Stop:
        """What an agent that joins now is told."""
        return self.server.download()

    def has(self, upload: Upload) -> bool:
        """Whether the log has an upload of this agent with this sequence."""
        return (upload.agent, upload.sequence) in self.server.positions

    def take(self, upload: Upload, received_at: str) -> Taken:
        """Append an upload to the log, or find it there; refused, with nothing changed, if neither fits."""
        position = self.server.positions.get((upload.agent, upload.sequence))
        try:
            if position is not None:
                return Taken(position, self.server.receive(upload))
            return self.append(upload, received_at)
        except Conflict as error:
            raise Refused(str(error), "conflict", 409) from None
        except Gap as error:
            raise Refused(str(error), "gap", 409) from None

    def append(self, upload: Upload, received_at: str) -> Taken:
        """The next upload of the log."""
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                reply = self.server.receive(upload)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise OutOfRange from error
        verdict, total = self.server.verdict, self.server.total
        samples = total.samples
        if (
            not samples < MOST_PULLS
            or math.isnan(verdict.breaking_index)
            or not math.isfinite(verdict.evidence)
        ):
            raise OutOfRange
        position = len(self.entries) + 1
        entry = Entry(position, upload.agent, upload.sequence, samples, verdict, received_at)
        self.entries.append(entry)
        site = self.sites.get(upload.agent) or Site(frame=self._frame(upload.agent))
        sent = site.samples + upload.tally.samples
        text = COMPACT.encode(upload.tally.to_json(self.study.problem.arms))
        size = site.bytes + site.frame + len(str(upload.sequence)) + len(text.encode())
        self.sites[upload.agent] = Site(site.uploads + 1, sent, received_at, position, size, site.frame)
        return Taken(position, reply, text)

    def _frame(self, agent: str) -> int:
        """How many bytes there are around the tally and the sequence in an agent's uploads."""
        empty = Upload(self.study.problem.fingerprint, agent, 0, self.server.start)
        return len(COMPACT.encode(empty.to_json(self.study.problem.arms)).encode()) - len("0{}")

    def snapshot(self, closed: bool, joined: dict[str, str]) -> Snapshot:
        """The study as it stands, in values that stay as they are."""
        return Snapshot(
            study=self.study,
            closed=closed,
            uploads=len(self.entries),
            entries=self.entries,
            log=self.server.log,
            total=self.server.total,
            verdict=self.server.verdict,
            stopped_at=self.stopped_at,
            sites=dict(self.sites),
            joined=joined,
        )
