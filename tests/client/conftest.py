"""What a test leaves open is closed after it."""

from collections.abc import Iterator

import pytest
from fake_server import OPENED


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while OPENED:
        opened = OPENED.pop()
        opened.end() if hasattr(opened, "end") else opened.close()
