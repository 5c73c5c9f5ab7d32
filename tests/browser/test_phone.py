"""On a phone: everything is there, nothing has to be moved sideways, and what is touched is large enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import Process
from uploads import small_problem

from bestarm import Problem

PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
OVERLAP = """([one, other]) => {
  const [a, b] = [one, other].map((found) => {
    const range = document.createRange();
    range.selectNodeContents(found);
    return [...range.getClientRects()];
  });
  const meet = (x, y) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom;
  return a.some((x) => b.some((y) => meet(x, y)));
}"""
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


def test_many_arms_and_long_names(server: Process, open_window: Callable[..., Window], folder: Path) -> None:
    """What is searched for can be read while it is typed, and the state stands beside the name."""
    name = "a-study-with-a-name-that-goes-on-and-on-and-needs-several-lines"
    problem = Problem(
        [f"ligand {k}" for k in range(12)], name=name, sigma=0.1, means=[0.1 * k for k in range(12)]
    )
    with Federation(server, problem, ["oslo"], folder) as study:
        study.step(2)
        page = open_window(server.url, **PHONE).sign_in(server.admin_token)
        row = page.locator(".studies tbody tr", has_text=name)
        parts = [row.get_by_role("link").element_handle(), row.locator(".pill").element_handle()]
        assert not page.evaluate(OVERLAP, parts)
        leader = row.locator('td[data-label="In the lead"]').bounding_box()
        assert leader is not None
        assert leader["height"] < 30  # one line
        row.get_by_role("link").tap()
        expect(page.locator(".arms tbody tr")).to_have_count(12)
        for field in ("standing-search", "arm-search"):
            box = page.locator(f'[data-part="{field}"]').bounding_box()
            assert box is not None
            assert box["width"] > 200
