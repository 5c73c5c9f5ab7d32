"""The server's state machine: an append-only log of uploads, their total, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.method import Kind, Method
from bestarm.protocol.messages import (
    MOST_PULLS,
    Conflict,
    Download,
    Gap,
    ProtocolError,
    Stop,
    Upload,
    check_sender,
    check_tally,
)


class Server:
    """Adds up uploads in the order in which they arrive and says when the best arm is known.

    An upload is known by its agent and sequence: received again it changes nothing and gets the same answer.

    `start` is a tally that everybody knows from the beginning (a simulation's first pull of each arm).

    >>> import bestarm
    >>> problem = bestarm.Problem(["A", "B"], sigma=0.1)
    >>> server = Server(bestarm.method("sharp", problem, agents=2))
    >>> upload = bestarm.Upload(problem.fingerprint, "lab-a", 1, Tally.of([20, 20], [18.0, 4.0]))
    >>> answer = server.receive(upload)
    >>> print(server.verdict)
    A is the answer, after 40 samples.
    >>> server.receive(upload) == answer, len(server.log)
    (True, 1)
    """

    def __init__(self, method: Method, start: Tally | None = None) -> None:
        if method.kind is Kind.SYNCHRONOUS:
            raise UserError(
                f"{method.name} works in rounds in which all agents wait; it can only be simulated."
            )
        self.method = method
        self.start = Tally.empty(len(method.problem.arms)) if start is None else start
        self.total = self.start
        self.log: list[Upload] = []
        self.verdict = method.verdict(self.start)
        self.positions: dict[tuple[str, int], int] = {}  # of an agent's sequence in the log, from 1
        self.sequences: dict[str, int] = {}  # of each agent's last upload
        self.stopped_at: int | None = None  # the position of the upload that settled it

    @classmethod
    def replay(cls, method: Method, uploads: Iterable[Upload], start: Tally | None = None) -> Server:
        """The server that a log leads to, bit for bit."""
        server = cls(method, start)
        for upload in uploads:
            server.receive(upload)
        return server

    @property
    def stopped(self) -> bool:
        """Whether the best arm is known."""
        return self.stopped_at is not None

    def download(self) -> Download | Stop:
        """What an agent that joins now is told."""
        fingerprint = self.method.problem.fingerprint
        return Stop(fingerprint, self.verdict) if self.stopped else Download(fingerprint, self.total)

    def receive(self, upload: Upload) -> Download | Stop:
        """Count an upload and answer it; an upload that can't be right is refused and nothing changes.

        After the stop an upload is still recorded, and the verdict stays what it was.
        """
        check_sender(upload, self.method.problem)
        check_tally(upload.tally, self.method.problem)
        position = self.positions.get((upload.agent, upload.sequence))
        if position is not None:
            return self._answer_again(upload, position)
        expected = self.sequences.get(upload.agent, 0) + 1
        if upload.sequence != expected:
            raise Gap(
                f"upload: agent {upload.agent!r} sent sequence {upload.sequence}; the next one is {expected}, "
                "so an earlier upload is missing and must be sent first."
            )
        # Everything that can fail comes first, so that a refused upload leaves no trace.
        total = self._add(upload.tally)
        verdict = self.verdict if self.stopped else self.method.verdict(total)
        self.log.append(upload)
        self.positions[upload.agent, upload.sequence] = len(self.log)
        self.sequences[upload.agent] = upload.sequence
        self.total = total
        if not self.stopped:
            self.verdict = verdict
            if verdict.stopped:
                self.stopped_at = len(self.log)
        return self.download()

    def _add(self, tally: Tally) -> Tally:
        total = self.total + tally
        if not np.isfinite(total.reward_sums).all() or not total.pulls.sum(dtype=np.float64) < MOST_PULLS:
            raise ProtocolError("tally: with it the total would be too large for a number to hold.")
        return total

    def _answer_again(self, upload: Upload, position: int) -> Download | Stop:
        """What the upload at this position was answered, from the log: a sum, not a replay of every verdict."""
        if self.log[position - 1].tally != upload.tally:
            raise Conflict(
                f"upload: agent {upload.agent!r} sent sequence {upload.sequence} before with another tally; "
                "two processes may be using one agent's name."
            )
        if position == len(self.log) or (self.stopped_at is not None and position >= self.stopped_at):
            return self.download()
        total = self.start
        for earlier in self.log[:position]:
            total = total + earlier.tally
        return Download(self.method.problem.fingerprint, total)
