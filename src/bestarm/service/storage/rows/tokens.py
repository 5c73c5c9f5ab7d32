"""Access tokens: 256 random bits, of which only the hash is kept, and what each of them may do."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from bestarm.service.storage import clock

TOKEN = re.compile(r"[A-Za-z0-9_-]{43,128}")
LONGEST = 10 * 366 * 24 * 3600  # seconds


class Role(StrEnum):
    """Who a token speaks for."""

    ADMIN = "admin"
    AGENT = "agent"
    VIEWER = "viewer"

    @property
    def whose(self) -> str:
        """In a sentence about tokens."""
        return {"admin": "an administrator's", "agent": "a site's", "viewer": "a viewer's"}[self.value]


@dataclass(frozen=True, slots=True)
class Token:
    """What is known about a token; the token itself is known to its holder alone."""

    id: str
    hash: str
    role: Role
    study_id: int | None
    study: str | None
    agent: str | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None

    def valid(self, now: datetime) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < clock.read(self.expires_at))

    @property
    def who(self) -> str:
        """Who does something, for the log."""
        return f"{self.role} {self.id}" if self.agent is None else self.agent

    def to_json(self) -> dict[str, Any]:
        """What an administrator may see."""
        return {
            "id": self.id,
            "role": str(self.role),
            "study": self.study,
            "agent": self.agent,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }


@dataclass(frozen=True, slots=True)
class Grant:
    """A token that is asked for, checked."""

    role: Role
    agent: str | None = None
    seconds: float | None = None


def new_secret() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(32)


def new_id() -> str:
    """A name for a token that may be shown."""
    return secrets.token_hex(6)


def hash_of(secret: str) -> str:
    """What is kept of a token. It has 256 random bits, so a plain hash can't be undone by guessing."""
    return hashlib.sha256(secret.encode()).hexdigest()
