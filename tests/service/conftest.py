"""An application on SQLite, driven in this process, with one study and a token for every role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI
from folders import quick_folder
from serving import Local
from uploads import small_problem

from bestarm.client.server.connection import Connection
from bestarm.protocol.version import HEADER, VERSION
from bestarm.service.http.app import create_app
from bestarm.service.http.service import Limits
from bestarm.service.storage import Storage, clock

PROBLEM = small_problem()
URL = "http://bestarm.test"


class World:
    """The application, and connections for everybody who may call it; its clock can be put forward."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        self.ahead = timedelta(0)
        self.storage = storage = Storage(url, now=self.now)
        self.app: FastAPI = create_app(storage, limits)
        self.local = Local(self.app)
        self.admin_token = storage.admit(None).result() or ""
        self.admin = self.connect(self.admin_token)

    def now(self) -> datetime:
        return clock.now() + self.ahead

    def connect(self, token: str) -> Connection:
        return Connection(URL, token, transport=self.local)

    def http(self, token: str | None = None) -> httpx.Client:
        """A bare client, for answers that `Connection` would turn into exceptions."""
        headers = {HEADER: str(VERSION)} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        return httpx.Client(base_url=URL, transport=self.local, headers=headers)

    def create(self, name: str = "ligands", **fields: object) -> dict[str, object]:
        body = {"problem": small_problem(name).to_dict(), "agents": 4} | fields
        return self.admin.call("POST", "/v1/studies", body)

    def token(self, study: str = "ligands", **fields: object) -> str:
        secret: str = self.admin.call("POST", f"/v1/studies/{study}/tokens", fields)["token"]
        return secret

    def close(self) -> None:
        self.local.close()
        self.storage.close()


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    worlds: list[World] = []

    def make(**limits: float) -> World:
        url = f"sqlite:///{folder / f'{len(worlds)}.db'}"
        worlds.append(World(url, Limits(**limits)))  # type: ignore[arg-type]
        return worlds[-1]

    with quick_folder() as folder:
        yield make
        for world in worlds:
            world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    made = make_world()
    made.create()
    return made
