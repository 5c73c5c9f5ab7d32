"""Names of arms are text, whatever they look like: nothing in them is run, loaded or taken for markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import Window
from federation import Federation
from hostile import NAMES
from playwright.sync_api import expect
from serving import Process

import bestarm
from bestarm.names import is_hidden


@pytest.mark.parametrize("best", [0, 1, 11])
def test_names_full_of_markup(
    best: int, server: Process, open_window: Callable[..., Window], folder: Path
) -> None:
    means = [0.9 if k == best else 0.2 for k in range(len(NAMES))]
    problem = bestarm.Problem(NAMES, name=f"hostile-{best}", sigma=0.1, delta=0.05, epsilon=0.0, means=means)
    with Federation(server, problem, ["oslo", "constructor", "a.b-c_d"], folder) as study:
        window = open_window(server.url)
        page = window.sign_in(study.viewer)
        page.evaluate(
            "window.violations = [];"
            "addEventListener('securitypolicyviolation', (event) => violations.push(event.blockedURI))"
        )
        study.step(2)
        rows = page.locator(".arms tbody tr")
        expect(rows).to_have_count(len(NAMES))
        expect(page.locator("[data-position]")).to_have_attribute("data-position", "2")
        while not study.labs[0].finished:
            study.step()
        expect(page.locator('[data-part="answer"]')).to_have_text(NAMES[best], use_inner_text=False)
        shown = page.evaluate("[...document.querySelectorAll('.arms tbody bdi')].map((bdi) => bdi.textContent)")
        assert sorted(shown) == sorted(NAMES)
        assert page.locator("main img, main script, main style, main svg").count() == 0
        assert page.locator(".brand").is_visible()
        search = page.get_by_label("Search arms")
        search.fill("<script")
        expect(rows).to_have_count(2)
        for label in ("Save the arms as PNG", "Save this chart as PNG"):
            with page.expect_download():
                page.get_by_role("button", name=label).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("link", name="All studies").click()
        won = page.locator(".studies tbody tr .won")
        expect(won).to_have_text(NAMES[best])
        assert page.evaluate("window.violations") == []
        window.check(study.viewer)


def test_an_address_full_of_markup(server: Process, open_window: Callable[..., Window]) -> None:
    window = open_window(server.url)
    name = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    page = window.sign_in(server.admin_token, f"#/studies/{name}")
    expect(page.locator('[data-part="notice"]')).to_contain_text("there is no study")
    assert page.locator("main img").count() == 0
    page.goto(f"{server.url}/#/studies/%E0%A4%A")
    expect(page.locator('[data-part="notice"]')).to_contain_text("there is no study")
    assert all("404" in text for text in window.complaints), window.complaints
    window.complaints.clear()


def test_names_of_older_studies_show_what_is_hidden_in_them(
    server: Process, open_window: Callable[..., Window]
) -> None:
    """The page's rule is that of `names.py`, for every character."""
    page = open_window(server.url).sign_in(server.admin_token)
    shown_there = page.evaluate(
        """async () => {
            const { make, say } = await import("/shared/dom.js");
            const hidden = [];
            for (let code = 0; code < 0x110000; code++) {
                if (code >= 0xd800 && code < 0xe000) continue;
                const name = make("bdi", {}, `a${String.fromCodePoint(code)}b`).textContent;
                if (name.startsWith("a\\\\u")) hidden.push(code);
            }
            const said = make("bdi");
            say(said, "a\u202eb\\n");
            return [hidden, said.textContent];
        }"""
    )
    codes = (code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    here = {code for code in codes if is_hidden(chr(code))}
    # The browser may know characters that are newer than Python's table, and the other way round.
    differ = [code for code in here ^ set(shown_there[0]) if unicodedata.category(chr(code)) != "Cn"]
    assert differ == []
    assert shown_there[1] == "a\\u202eb\\u000a"
