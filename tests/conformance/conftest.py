"""Every test here runs on every storage: SQLite, and a PostgreSQL that the tests start themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from folders import quick_folder
from postgres import Postgres, postgres

from bestarm.service.storage import Storage

Open = Callable[..., Storage]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Postgres]:
    with postgres(durable=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty storage."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("cluster")
        yield server.database()
        return
    with quick_folder() as folder:
        yield f"sqlite:///{folder / 'bestarm.db'}"


@pytest.fixture
def opened(url: str) -> Iterator[Open]:
    """Opens the storage, as often as wanted: each is what a server process would have."""
    storages: list[Storage] = []

    def open_another(**settings: Any) -> Storage:
        storages.append(Storage(url, **settings))
        return storages[-1]

    yield open_another
    for storage in storages:
        storage.close()


@pytest.fixture
def storage(opened: Open) -> Storage:
    return opened()
