"""A browser and a server process for each file of tests, and windows that must end without a complaint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Window, browsing
from folders import quick_folder
from playwright.sync_api import Browser
from serving import Process, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with quick_folder() as place, serving("--rate", "0", folder=place) as process:
        yield process


@pytest.fixture
def open_window(browser: Browser) -> Iterator[Callable[..., Window]]:
    """Opens windows; every one is checked at the end, unless the test failed before."""
    windows: list[Window] = []

    def make(url: str, **options: Any) -> Window:
        windows.append(Window(browser, url, **options))
        return windows[-1]

    yield make
    try:
        for window in windows:
            window.check()
    finally:
        for window in windows:
            window.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as place:
        yield place
