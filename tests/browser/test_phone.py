"""On a phone: everything is there, nothing has to be moved sideways, and what is touched is large enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import Process
from uploads import small_problem

PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
WIDE = "document.documentElement.scrollWidth"


def test_a_phone(server: Process, open_window: Callable[..., Window], folder: Path) -> None:
    with Federation(
        server, small_problem("phone"), ["oslo", "a-site-with-a-rather-long-name.example"], folder
    ) as study:
        study.step(3)
        window = open_window(server.url, **PHONE)
        page = window.page
        page.goto(server.url)
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate(WIDE) == 360
        window.sign_in(study.viewer)
        expect(page.locator(".arms tbody tr")).to_have_count(3)
        assert page.evaluate(WIDE) == 360
        for name in ("leader", "sure", "longer", "site-count"):
            box = page.locator(f'[data-part="{name}"]').bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < 740  # without scrolling
        row = page.locator(".sites tbody tr").first
        for label in ("Last seen", "Samples", "Asked to do", "Since"):
            shown = row.locator(f'td[data-label="{label}"]')
            expect(shown).to_be_visible()
            assert page.evaluate(
                "(cell) => getComputedStyle(cell, '::before').content", shown.element_handle()
            ) == (f'"{label} "')
        for button in page.get_by_role("button").all():
            box = button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 32
        while not study.labs[0].finished:
            study.step()
        expect(page.get_by_role("region", name="Verdict")).to_be_visible()
        assert page.evaluate(WIDE) == 360
        page.get_by_role("link", name="All studies").tap()
        expect(page.locator(".studies tbody tr")).to_have_count(1)
        assert page.evaluate(WIDE) == 360
