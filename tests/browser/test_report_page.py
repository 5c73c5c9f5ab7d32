"""The report in a browser: nothing in it runs or loads, it fits a phone and a sheet, and axe finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Window, axe_source
from federation import Federation
from hostile import NAMES
from playwright.sync_api import expect
from serving import Process

import bestarm


@pytest.fixture(scope="module")
def study(server: Process) -> Iterator[Federation]:
    means = [0.9 if k == 1 else 0.2 for k in range(len(NAMES))]
    problem = bestarm.Problem(NAMES, name="hostile", sigma=0.1, delta=0.05, means=means, control=NAMES[0])
    with Federation(server, problem, ["oslo", "rome"], server.folder) as made:
        made.step(4)
        made.admin.call("POST", f"{made.path}/close", {"reason": "<script>alert('why')</script>"})
        yield made


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_report_from_its_file(
    study: Federation, open_window: Callable[..., Window], theme: str, width: int
) -> None:
    page_text = study.admin.send("GET", f"{study.path}/report").text
    file = study.folder / "report.html"
    file.write_text(page_text, encoding="utf-8")
    window = open_window("file://", color_scheme=theme, viewport={"width": width, "height": 900})
    page = window.page
    page.goto(f"file://{file}")
    expect(page.get_by_role("heading", name="Study hostile")).to_be_visible()
    assert page.locator("script, img, iframe, object, link, a").count() == 0
    assert page.locator("style").count() == 1
    assert page.evaluate("getComputedStyle(document.querySelector('.answer')).borderRadius") == "6px"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = page.evaluate("[...document.querySelectorAll('tbody th bdi')].map((one) => one.textContent)")
    assert set(NAMES) <= set(shown)
    # Its own policy lets no script in, so axe is run from outside of the page's world.
    session = window.context.new_cdp_session(page)
    session.send("Page.setBypassCSP", {"enabled": True})
    page.reload()
    page.evaluate(axe_source())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_a_report_that_the_dashboard_opens_keeps_its_style(
    study: Federation, server: Process, open_window: Callable[..., Window]
) -> None:
    """A page that is made in another one is under its policy, which names the hash of the report's style."""
    window = open_window(server.url)
    page = window.sign_in(study.viewer)
    with window.context.expect_page() as opened:
        page.evaluate(
            """async ([path, token]) => {
                const answer = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
                open(URL.createObjectURL(await answer.blob()));
            }""",
            [f"{study.path}/report", study.viewer],
        )
    report = opened.value
    expect(report.get_by_role("heading", name="Study hostile")).to_be_visible()
    assert report.evaluate("getComputedStyle(document.querySelector('.answer')).borderRadius") == "6px"
    assert report.evaluate("getComputedStyle(document.body).fontSize") == "16px"


def test_it_prints_light_on_sheets(study: Federation, open_window: Callable[..., Window]) -> None:
    file = study.folder / "printed.html"
    file.write_text(study.admin.send("GET", f"{study.path}/report").text, encoding="utf-8")
    window = open_window("file://", color_scheme="dark", viewport={"width": 680, "height": 900})
    window.page.goto(f"file://{file}")
    window.page.emulate_media(media="print")
    assert window.page.evaluate("getComputedStyle(document.body).color") == "rgb(23, 27, 33)"
    assert window.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_the_widest_table_fits_on_a_sheet(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    """Differences, their intervals and percents, odds, and since when an arm is ruled out."""
    arms = ["a control with a rather long name", "another", "third"]
    means = [0.5, 0.9, 0.2]
    problem = bestarm.Problem(arms, name="wide", control=arms[0], sigma=0.3, means=means, delta=0.0001)
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(6)
        file = folder / "wide.html"
        file.write_text(study.admin.send("GET", f"{study.path}/report").text, encoding="utf-8")
        page = open_window("file://", viewport={"width": 672, "height": 900}).page  # what is left of A4
        page.goto(f"file://{file}")
        assert page.get_by_role("region", name="Arms").locator("th[scope=col]").count() == 9
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 672
