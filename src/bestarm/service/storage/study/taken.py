"""The answer to an upload."""

from __future__ import annotations

from dataclasses import dataclass

from bestarm.protocol.messages import Download, Stop


@dataclass(slots=True)
class Taken:
    """An upload's place among the uploads, and whether the log did not have it before.

    `entry` is its place in the log, and `digest` what stands there: its receipt.

    What it is answered is known when the transaction that takes it ends.
    """

    position: int
    new: bool
    entry: int
    digest: str
    answer: Download | Stop | None = None

    @property
    def reply(self) -> Download | Stop:
        """The reply of the protocol."""
        assert self.answer is not None
        return self.answer
