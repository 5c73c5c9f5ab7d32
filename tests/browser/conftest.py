"""A browser and a server process for each file of tests, and windows that must end without a complaint."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Window, browsing
from folders import quick_folder
from playwright.sync_api import Browser
from serving import Process, serving

WINDOWS = pytest.StashKey[list[Window]]()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with quick_folder() as place, serving("--rate", "0", folder=place) as process:
        yield process


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails says what its windows showed."""
    report = yield
    if report.when == "call" and report.failed:
        report.sections += [("window", window.describe()) for window in item.stash.get(WINDOWS, [])]
    return report


@pytest.fixture
def open_window(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Window]]:
    """Opens windows; every one is checked at the end."""
    windows: list[Window] = []
    request.node.stash[WINDOWS] = windows

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
