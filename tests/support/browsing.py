"""A real browser without a window, and a page that notes all it asks for and all it complains about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
OPTIONS += ["--disable-background-networking", "--disable-component-update"]
PATIENCE = 20_000  # ms that a page may take to show something, on a busy machine
TOOLS = Path(__file__).parents[2] / ".tools"


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser for as long as the block lasts."""
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None:
        raise RuntimeError("Chromium is not there; run scripts/install-test-tools.sh.")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield browser
        browser.close()


def axe_source() -> str:
    """The program that looks for what keeps people from using a page."""
    found = sorted(TOOLS.glob("axe-core-*/axe.min.js"))
    if not found:
        raise RuntimeError("axe-core is not there; run scripts/install-test-tools.sh.")
    return found[-1].read_text()


class Window:
    """One page, watched: its requests, its complaints, its dialogs."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.acts = False  # one that only looks sends nothing but GET, and is refused nothing
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        self.answered: list[Request] = []
        self.context = browser.new_context(**{"locale": "en-GB", "accept_downloads": True, **options})
        self.page: Page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("response", lambda response: self.answered.append(response.request))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.set_default_timeout(PATIENCE)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def sign_in(self, token: str, address: str = "") -> Page:
        """Open the dashboard and give it a token."""
        self.page.goto(f"{self.url}/{address}")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Open").click()
        return self.page

    def check(self, *tokens: str) -> None:
        """Nothing left the machine, no token was in an address, nothing went wrong."""
        for request in self.requests:
            assert request.url.startswith((f"{self.url}/", f"blob:{self.url}/")), request.url
            assert request.method == "GET" or self.acts
            assert not any(token in request.url for token in tokens)
        refused = "error: Failed to load resource: the server responded with a status of 4"
        complaints = [one for one in self.complaints if not (self.acts and one.startswith(refused))]
        assert complaints == [], complaints

    def describe(self) -> str:
        """What there is to see, for whoever wonders why a test failed."""
        waiting = [request.url for request in self.requests if request not in self.answered]
        shown = self.page.locator("body").inner_text(timeout=1000)
        return f"{self.page.url}\ncomplaints: {self.complaints}\nnot answered: {waiting}\n{shown}"

    def close(self) -> None:
        self.context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
