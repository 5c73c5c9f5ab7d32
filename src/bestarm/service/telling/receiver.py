"""What a receiver of news must be able to do."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol


class NotTold(Exception):
    """It did not work, and may work later; the sentence has no secrets in it."""


class Receiver(Protocol):
    """Somewhere to tell news."""

    @property
    def name(self) -> str:
        """What it is called in the log; no secrets."""

    @property
    def key(self) -> str:
        """What it is known by in the storage."""

    def tell(self, body: dict[str, Any], text: str) -> None:
        """Tell the news, decoded and as it is kept; `NotTold` if that fails, within some seconds."""


def key_of(*parts: str) -> str:
    """A short name for what a receiver is, from which nobody can read where it is.

    >>> key_of("webhook", "https://host/hook")
    'a4fb3935fd9f096ffb875578bbeabb77'
    """
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
