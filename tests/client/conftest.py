"""What a test leaves open is closed after it."""

from collections.abc import Iterator

import pytest
from fake_server import OPENED
from real_server import RealServer


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while OPENED:
        opened = OPENED.pop()
        opened.end() if hasattr(opened, "end") else opened.close()


@pytest.fixture(params=["server", "storage"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the lab that must hold on a server and without one."""
    monkeypatch.setattr(RealServer, "without_server", request.param == "storage")
