"""What the page does when the server goes away, comes back, or does not know the token any more."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from browsing import Window
from federation import Federation
from playwright.sync_api import Browser, Page, expect
from serving import Process, serving

import bestarm

RECONNECT = 45_000  # ms; a page that lost a server that is slow to start waits up to 37.5 s between two tries


def problem(name: str = "ligands") -> bestarm.Problem:
    """One that does not end within a few batches."""
    means = {"alpha": 0.9, "beta": 0.88, "gamma": 0.86}
    values = list(means.values())
    return bestarm.Problem(list(means), name=name, sigma=0.3, delta=1e-6, epsilon=0.0, means=values)


def at(page: Page, position: int) -> None:
    """The page knows the log up to here."""
    place = page.locator("[data-position]")
    expect(place).to_have_attribute("data-position", str(position), timeout=RECONNECT)


def says(page: Page, words: str) -> None:
    """The header tells how the connection does."""
    expect(page.locator('[data-part="live"]')).to_have_text(words, timeout=RECONNECT)


def port(server: Process) -> tuple[str, str]:
    return "--port", str(urlsplit(server.url).port)


def test_a_restart_in_the_middle(browser: Browser, folder: Path) -> None:
    """The page says that it is cut off, comes back by itself, goes on where it was, and nothing is missing."""
    with serving("--rate", "0", folder=folder) as server:
        study = Federation(server, problem(), ["oslo", "rome"], folder)
        study.step(4)
        window = Window(browser, server.url)
        page = window.sign_in(study.viewer)
        at(page, 4)
        study.step(2)
        at(page, 6)
        says(page, "● Live")
        page.get_by_text("The latest numbers").click()
        leader = page.locator('[data-part="leader"]').inner_text()
    with study, window:
        notice = page.locator('[data-part="notice"]')
        expect(notice).to_contain_text("The connection was lost")
        expect(notice).to_contain_text("Next try in")
        says(page, "▲ Not connected")
        at(page, 6)
        assert page.locator('[data-part="leader"]').inner_text() == leader
        window.requests.clear()
        with serving("--rate", "0", *port(server), folder=folder):
            study.step(3)
            at(page, 9)
            expect(notice).to_be_hidden()
            says(page, "● Live")
            # If the lead has changed meanwhile, that is the last thing it says.
            announced = re.compile(r"^Connected again\.$|is in the lead\.$")
            expect(page.locator('[data-part="announce"]')).to_have_text(announced)
            streams = [request for request in window.requests if request.url.endswith("/events")]
            assert {request.headers["last-event-id"] for request in streams} == {"6"}
            study.step()
            rows = page.locator('[data-part="number-rows"] tr')
            expect(rows.first.locator("td").first).to_have_text("10")
            told = [row.locator("td").first.inner_text() for row in rows.all()]
            assert told == [str(k) for k in range(10, 0, -1)]
            assert all("net::ERR_" in text for text in window.complaints), window.complaints


def test_another_storage_behind_the_same_address(browser: Browser, folder: Path) -> None:
    """The log is shorter than what the page knew: it forgets, and shows what is there."""
    secret = "a" * 43
    for name in ("old", "new"):
        (folder / name).mkdir()
        (folder / name / "admin-token").write_text(secret)
    with (
        serving("--rate", "0", folder=folder / "old") as server,
        Federation(server, problem(), ["oslo"], folder / "old") as study,
    ):
        study.step(5)
        window = Window(browser, server.url)
        page = window.sign_in(secret, "#/studies/ligands")
        at(page, 5)
        window.context.set_offline(True)  # it comes back when there is a study of this name again
    with (
        window,
        serving("--rate", "0", *port(server), folder=folder / "new") as server,
        Federation(server, problem(), ["rome"], folder / "new") as study,
    ):
        study.step(2)
        window.context.set_offline(False)
        at(page, 2)
        expect(page.locator(".sites tbody th")).to_have_text("rome")
        study.step()
        at(page, 3)


def hide(page: Page, hidden: bool) -> None:
    """As if another tab came in front, or this one again."""
    page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def test_a_page_that_nobody_sees_lets_go_of_its_stream(
    server: Process, open_window: Callable[..., Window], folder: Path
) -> None:
    """A browser has six connections for a server; a seventh page must not wait for ever."""
    with Federation(server, problem("hidden"), ["oslo"], folder) as study, server.admin() as admin:

        def streams() -> int:
            numbers = admin.send("GET", "/metrics").text.splitlines()
            return int(next(line.split()[1] for line in numbers if line.startswith("bestarm_streams ")))

        window = open_window(server.url)
        window.page.clock.install()
        page = window.sign_in(study.viewer)
        study.step()
        at(page, 1)
        assert streams() == 1
        hide(page, True)
        page.clock.fast_forward(30_000)
        hide(page, False)
        page.clock.fast_forward(40_000)
        study.step()
        at(page, 2)
        assert streams() == 1
        hide(page, True)
        page.clock.fast_forward(61_000)
        expect(page.locator('[data-part="notice"]')).to_be_hidden()
        deadline = time.monotonic() + 20
        while streams():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        study.step(2)
        window.requests.clear()
        hide(page, False)
        at(page, 4)
        says(page, "● Live")
        (stream,) = [request for request in window.requests if request.url.endswith("/events")]
        assert stream.headers["last-event-id"] == "2"


def test_a_revoked_token_leads_back_to_the_door(
    server: Process, open_window: Callable[..., Window], folder: Path
) -> None:
    with Federation(server, problem(), ["oslo"], folder) as study:
        made = study.token(role="viewer")
        window = open_window(server.url)
        page = window.sign_in(made["token"])
        says(page, "● Live")
        study.admin.call("DELETE", f"/v1/tokens/{made['id']}")
        study.step()
        expect(page.get_by_label("Token")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")
        assert page.evaluate("sessionStorage.length") == 0
    assert all("401" in text for text in window.complaints)
    window.complaints.clear()
