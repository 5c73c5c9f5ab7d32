"""Labs that a test leaves open are closed after it."""

from collections.abc import Iterator

import pytest
from fake_server import OPENED


@pytest.fixture(autouse=True)
def _close_labs() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
