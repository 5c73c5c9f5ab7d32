"""A process that dies at a statement of its own choosing."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

import httpx


class Killed(BaseException):
    """The process is gone: nothing catches this, and nothing works after it."""


@dataclass
class Fuse:
    """Kills at the n-th point, and counts the points."""

    left: int | None
    points: int = 0

    def point(self) -> None:
        if self.left == 0:
            raise Killed
        self.points += 1
        if self.left is not None:
            self.left -= 1


class Statements:
    """A database connection that can die before and after each statement."""

    def __init__(self, database: sqlite3.Connection, fuse: Fuse) -> None:
        self.database, self.fuse = database, fuse

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        self.fuse.point()
        cursor = self.database.execute(*statement)
        self.fuse.point()
        return cursor

    def close(self) -> None:
        """What the system does with a dead process's files: an open transaction is rolled back."""
        self.database.close()

    @property
    def in_transaction(self) -> bool:
        return self.database.in_transaction


@dataclass
class Wire(httpx.BaseTransport):
    """A network that can take the process with it, before a message leaves and after the answer arrived."""

    server: httpx.BaseTransport
    fuse: Fuse

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.fuse.point()
        answer = self.server.handle_request(request)
        self.fuse.point()
        return answer
