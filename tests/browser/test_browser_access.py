"""Who sees what, and where the token is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import Process
from uploads import small_problem


@pytest.fixture(scope="module")
def studies(server: Process) -> Iterator[list[Federation]]:
    made = [
        Federation(server, small_problem(name), ["oslo"], server.folder)
        for name in ("first", "second", "third")
    ]
    made[0].step(3)
    made[1].step(40)
    yield made
    for study in made:
        study.close()


def test_an_administrator_sees_all_studies(
    server: Process, studies: list[Federation], open_window: Callable[..., Window]
) -> None:
    window = open_window(server.url)
    page = window.sign_in(server.admin_token)
    rows = page.locator(".studies tbody tr")
    expect(rows).to_have_count(3)
    assert [row.locator("a").inner_text() for row in rows.all()] == ["third", "first", "second"]
    expect(rows.nth(0)).to_contain_text("○ Waiting")
    expect(rows.nth(1)).to_contain_text("● Running")
    expect(rows.nth(2)).to_contain_text("✓ Finished")
    expect(rows.nth(2)).to_contain_text("100 %")
    line = rows.nth(1).locator(".sparkline path").nth(1).get_attribute("d")
    assert line is not None
    assert line.count("L") == 2
    studies[0].step()
    expect(rows.nth(1).locator(".number").first).to_have_text(str(studies[0].status()["samples"]))
    rows.nth(1).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("first")
    page.get_by_role("link", name="All studies").click()
    expect(rows).to_have_count(3)
    window.check(server.admin_token)


def test_a_viewer_sees_its_own_study_at_once_and_no_other(
    server: Process, studies: list[Federation], open_window: Callable[..., Window]
) -> None:
    window = open_window(server.url)
    page = window.sign_in(studies[1].viewer)
    expect(page.get_by_role("heading", level=1)).to_have_text("second ✓ Finished")
    page.get_by_role("link", name="All studies").click()
    expect(page.locator(".studies tbody tr")).to_have_count(1)
    page.goto(f"{server.url}/#/studies/first")
    expect(page.locator('[data-part="notice"]')).to_contain_text("this token is for study 'second' only")
    assert all("403" in text for text in window.complaints)
    window.complaints.clear()
    window.check(studies[1].viewer)


def test_a_wrong_token_gets_a_sentence(server: Process, open_window: Callable[..., Window]) -> None:
    window = open_window(server.url)
    page = window.sign_in("nonsense")
    expect(page.get_by_role("alert")).to_contain_text("this token is unknown, expired or revoked")
    page.get_by_label("Token").fill("x" * 43)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")
    assert len(window.complaints) == 2
    assert all("401" in text for text in window.complaints)
    window.complaints.clear()


def test_the_token_stays_in_the_tab(
    server: Process, studies: list[Federation], open_window: Callable[..., Window]
) -> None:
    window, token = open_window(server.url), studies[0].viewer
    page = window.sign_in(token)
    expect(page.locator('[data-part="live"]')).to_have_text("● Live")
    assert token not in page.url
    page.reload()
    expect(page.locator('[data-part="live"]')).to_have_text("● Live")
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    assert page.evaluate("Object.values(sessionStorage)") == [token]
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    for request in window.requests:
        if "/v1/" in request.url:
            assert request.headers["authorization"] == f"Bearer {token}"
        else:
            assert "authorization" not in request.headers
    window.check(token)


def test_light_and_dark(server: Process, studies: list[Federation], open_window: Callable[..., Window]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(245, 246, 248)", "rgb(14, 17, 22)"
    for preferred, first, other in (("light", light, dark), ("dark", dark, light)):
        page = open_window(server.url, color_scheme=preferred).sign_in(studies[0].viewer)
        expect(page.locator('[data-part="live"]')).to_have_text("● Live")
        assert page.evaluate(ground) == first
        page.get_by_role("button", name="Switch to the").click()
        assert page.evaluate(ground) == other
        page.reload()
        expect(page.locator('[data-part="live"]')).to_have_text("● Live")
        assert page.evaluate(ground) == other


def test_the_keyboard_reaches_everything(
    server: Process, studies: list[Federation], open_window: Callable[..., Window], folder: Path
) -> None:
    page = open_window(server.url).sign_in(studies[0].viewer)
    expect(page.locator('[data-part="live"]')).to_have_text("● Live")
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(24):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.textContent.trim() || document.activeElement.value")
        )
    for wanted in (
        "Skip to the content",
        "bestarm",
        "Dark",
        "Sign out",
        "Report",
        "CSV",
        "JSON",
        "samples",
        "PNG",
        "More",
    ):
        assert wanted in reached
    page.locator('input[value="samples"]').focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Time", exact=True)).to_be_checked()
