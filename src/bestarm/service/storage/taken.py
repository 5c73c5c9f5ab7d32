"""The answer to an upload."""

from __future__ import annotations

from dataclasses import dataclass

from bestarm.protocol.messages import Download, Stop


@dataclass(frozen=True, slots=True)
class Taken:
    """An upload's place among the uploads, the reply of the protocol, and whether the log did not have it."""

    position: int
    reply: Download | Stop
    new: bool
