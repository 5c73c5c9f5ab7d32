"""What one caller may ask of the server, and all together; a test compares it with docs/deploy.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes, rates, times and numbers."""

    body: int = 1_000_000  # bytes
    arms: int = 10_000
    rate: float = 100.0  # calls a second for each token; 0 is no limit
    burst: float = 200.0
    stale_after: float = 86_400.0  # seconds without a word until a site counts as stale
    keep_alive: float = 15.0  # seconds between two signs of life on an idle stream
    patience: float = 30.0  # seconds for a handshake, for a head, for a body, and for an answer to be read
    connections: int = 4_000
    exports: int = 8  # at a time

    @property
    def idle(self) -> float:
        """Seconds between an answer and the next request, or until what is left of a body has come."""
        return min(5.0, self.patience)

    @property
    def connections_by_address(self) -> int:
        """So many addresses are needed to take all places."""
        return max(1, self.connections // 4)

    @property
    def requests_by_token(self) -> int:
        """Under way at a time, streams among them."""
        return max(1, self.connections // 8)

    @property
    def streams(self) -> int:
        """Event streams in all: they last, so half of the places are kept for others."""
        return max(1, self.connections // 2)

    @property
    def exports_by_address(self) -> int:
        """At a time."""
        return max(1, self.exports // 2)

    @property
    def exports_by_token(self) -> int:
        """At a time."""
        return max(1, self.exports // 4)
