"""A newcomer's walk: a study made in the browser, two benches, a typo, a spell without network, the report."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import Window
from folders import quick_folder
from playwright.sync_api import Page, expect
from serving import Process, serving

MEANS = {"PPh3": 40.0, "XPhos": 62.0, "SPhos": 80.0}
PLATE = 12
PASTE = """(input, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def fresh() -> Iterator[Process]:
    """`bestarm serve` in an empty folder."""
    with quick_folder() as place, serving(folder=place) as process:
        yield process


class Bench:
    """A site's window, from its invitation on."""

    def __init__(self, window: Window, link: str) -> None:
        window.acts = True
        self.window, self.page = window, window.page
        self.chance = random.Random(link[:40])
        self.page.goto(link)
        self.page.get_by_label("Trials that fit on one plate").fill(str(PLATE))
        self.page.get_by_role("button", name="Begin").click()
        self.rows = self.page.locator('[data-part="rows"] tr')
        expect(self.rows.first).to_be_visible()

    @property
    def open(self) -> list[str]:
        """The arms of the trials that are open, in their order."""
        return [one.strip() for one in self.rows.locator("bdi").all_inner_texts()]

    def measured(self, arm: str) -> str:
        return f"{self.chance.gauss(MEANS[arm], 6.0):.1f}"

    def type_in(self, values: list[str]) -> None:
        """One after the other, with the keyboard."""
        self.rows.first.locator("input").focus()
        for place, value in enumerate(values):
            expect(self.rows.nth(place).locator("input")).to_be_focused()
            self.page.keyboard.type(value)
            self.page.keyboard.press("Enter")

    def paste(self) -> None:
        """A whole column out of a spreadsheet."""
        column = "\n".join(map(self.measured, self.open))
        self.rows.first.locator("input").evaluate(PASTE, column)


def made(page: Page, name: str) -> None:
    """A study, from the page of somebody who has none yet."""
    expect(page.get_by_text("There are no studies yet")).to_be_visible()
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Name of the study").fill(name)
    page.get_by_label("Options, one on each line").fill("\n".join(MEANS))
    expect(page.locator('[data-part="expected"] li').first).to_contain_text("experiments of all sites together")
    page.get_by_role("button", name="Make the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{name} ○ Waiting")


def invited(page: Page, site: str) -> str:
    """The link that a site gets."""
    page.get_by_role("button", name="Invite a site").click()
    page.get_by_label("Name of the site").fill(site)
    page.get_by_role("button", name="Make an invitation").click()
    link = page.get_by_label("Link", exact=True).input_value()
    page.get_by_role("button", name="I have passed it on").click()
    return link


PICTURES = os.environ.get("BESTARM_PICTURES")  # a folder for what there is to see on the way
LOOKS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


@pytest.mark.parametrize(("look", "theme"), [("desk", "light"), ("phone", "dark")])
def test_a_newcomers_walk(look: str, theme: str, fresh: Process, open_window: Callable[..., Window]) -> None:
    options = {**LOOKS[look], "color_scheme": theme}

    def seen(name: str, page: Page) -> None:
        """Nothing is cut off at the side."""
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if PICTURES:
            page.wait_for_timeout(400)
            page.screenshot(path=f"{PICTURES}/{look}-{theme}-{name}.png", full_page=True)

    coordinator = open_window(fresh.url, **options)
    coordinator.acts = True
    page = coordinator.page
    page.goto(fresh.url)
    expect(page.locator("#token-help")).to_contain_text("token is printed by bestarm serve when it starts")
    seen("sign-in", page)
    coordinator.sign_in(fresh.admin_token)
    made(page, "ligands")
    seen("made", page)
    links = [invited(page, site) for site in ("lab-a", "lab-b")]
    first, second = (Bench(open_window(fresh.url, **options), link) for link in links)
    expect(page.locator(".sites tbody tr")).to_have_count(2, timeout=30_000)

    # The first plate by hand, with a typing mistake that is noticed when it was sent.
    arms = first.open
    values = [first.measured(arm) for arm in arms]
    right, values[0] = values[0], "8.1"
    first.type_in(values)
    expect(page.locator("[data-position]")).to_have_attribute("data-position", "1")
    seen("bench", first.page)
    first.page.get_by_role("button", name="Correct trial 1", exact=True).click()
    first.page.get_by_label("what was measured").fill(right)
    first.page.get_by_label("What was wrong").fill("a digit was missing")
    first.page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator('[data-part="lately"]')).to_contain_text(
        "Batch 1 of lab-a was corrected", timeout=30_000
    )

    # The other site loses its network in the middle of a plate, and its tab is closed and opened again.
    second.window.context.set_offline(True)
    second.type_in([second.measured(arm) for arm in second.open])
    line = second.page.locator('[data-part="line"]')
    expect(line).to_contain_text("Not connected")
    seen("offline", second.page)
    second.page.reload()
    expect(line).to_contain_text("Not connected")
    second.page.evaluate("link => history.replaceState(null, '', link)", links[1])
    second.page.reload()  # the invitation once more, as whoever has lost the tab does
    expect(line).to_contain_text("Not connected")
    assert fresh_uploads(page) == 1
    second.window.context.set_offline(False)
    expect(line).to_contain_text("Connected")
    expect(page.locator("[data-position]")).to_have_attribute("data-position", "2")

    benches, over = [first, second], "The study is finished: SPhos is best"
    for turn in range(40):
        bench = benches[turn % 2]
        if over in bench.page.locator('[data-part="line"]').inner_text():
            break
        before = fresh_uploads(page)
        bench.paste()
        expect(page.locator(f'[data-position="{before + 1}"]')).to_have_count(1)
    expect(page.get_by_role("region", name="Verdict")).to_contain_text("SPhos")
    expect(page.locator(".sites tbody")).to_contain_text("nothing any more")  # all of the page has heard of it
    seen("verdict", page)
    seen("finished", bench.page)
    with coordinator.context.expect_page() as opened:
        page.get_by_role("button", name="Report").click()
    expect(opened.value.get_by_role("heading", name="Study ligands")).to_be_visible()
    expect(opened.value.locator("body")).to_contain_text("a digit was missing")
    seen("report", opened.value)
    for one in (first, second):
        one.window.complaints.clear()  # requests that failed while there was no network


def fresh_uploads(page: Page) -> int:
    return int(page.locator("[data-position]").get_attribute("data-position") or 0)
