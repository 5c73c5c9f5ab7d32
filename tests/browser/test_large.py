"""A thousand arms and a thousand sites: the top comes first, the rest is a search away, and nothing freezes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import Window
from folders import quick_folder
from playwright.sync_api import expect
from serving import Process, serving

import bestarm
from bestarm.client.server.connection import Connection
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Join, Upload
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import Grant, Role

ARMS = [f"compound {k:04d}" for k in range(1000)]
SITES = [f"site-{k:04d}" for k in range(1000)]
PROBLEM = bestarm.Problem(ARMS, name="library", sigma=0.3, delta=0.05, epsilon=0.0)
LONGEST = 400  # ms that the page may be busy without a break


@dataclass
class Large:
    server: Process
    viewer: str
    lab: Connection


def upload(agent: str, sequence: int, arms: range, times: int = 1) -> Upload:
    """So many pulls of each of these arms; compound 0777 is good, and 0123 not much worse."""
    chance = random.Random(f"{agent} {sequence}")
    pulls, sums = [0] * len(ARMS), [0.0] * len(ARMS)
    for k in arms:
        mean = {777: 0.95, 123: 0.9}.get(k, 0.2 + 0.4 * (k % 97) / 97)
        pulls[k] = times
        sums[k] = times * mean + chance.gauss(0.0, 0.1 * times**0.5)
    return Upload(PROBLEM.fingerprint, agent, sequence, Tally.of(pulls, sums))


def prepare(folder: Path) -> tuple[str, str]:
    """A storage as a long study leaves it; returns the tokens of a viewer and of one site."""
    storage = Storage(f"sqlite:///{folder / 'bestarm.db'}")
    study = storage.create(bestarm.method("sharp", PROBLEM, len(SITES))).result().study
    for future in [storage.join(study, Join(site)) for site in SITES]:
        future.result()
    sent = [storage.take(study, upload(SITES[0], 1, range(1000), 5))]
    sent += [
        storage.take(study, upload(site, 1, range(k, 1000, 331), 3)) for k, site in enumerate(SITES[1:60], 1)
    ]
    for taken in sent:
        taken.result()
    viewer, _ = storage.grant(Grant(Role.VIEWER), study, "admin 7f").result()
    lab, _ = storage.grant(Grant(Role.AGENT, SITES[0]), study, "admin 7f").result()
    storage.close()
    return viewer, lab


@pytest.fixture(scope="module")
def large() -> Iterator[Large]:
    with quick_folder() as folder:
        viewer, lab = prepare(folder)
        with serving("--rate", "0", folder=folder) as server, Connection(server.url, lab) as connection:
            yield Large(server, viewer, connection)


def test_the_top_first_search_pages_and_no_freeze(large: Large, open_window: Callable[..., Window]) -> None:
    window = open_window(large.server.url)
    page = window.page
    page.add_init_script(
        "window.busy = [];"
        "new PerformanceObserver((list) => busy.push(...list.getEntries().map((one) => one.duration)))"
        ".observe({ type: 'longtask', buffered: true });"
    )
    window.sign_in(large.viewer)
    arms, sites = page.locator(".arms tbody tr"), page.locator(".sites tbody tr")
    expect(arms).to_have_count(25)
    expect(sites).to_have_count(25)
    status = large.lab.call("GET", "/v1/studies/library/status")
    assert status["verdict"]["leader"] == "compound 0777"
    best_first = [arm["arm"] for arm in sorted(status["arms"], key=lambda arm: arm["rank"])]
    assert [row.locator("bdi").inner_text() for row in arms.all()] == best_first[:25]
    expect(arms.nth(0)).to_contain_text("Leader")
    expect(page.locator('[data-part="arm-pager"]')).to_contain_text("1 to 25 of 1,000")

    page.locator('[data-part="arm-pager"]').get_by_label("Next page").click()
    expect(page.locator('[data-part="arm-pager"]')).to_contain_text("26 to 50 of 1,000")
    page.get_by_label("Search arms").fill("COMPOUND 050")
    expect(arms).to_have_count(10)
    page.get_by_label("Search arms").fill("nothing like it")
    expect(page.locator('[data-part="arms-empty"]')).to_have_text("Nothing is called like that.")
    page.get_by_label("Search arms").fill("")
    page.get_by_label("Order of the arms").select_option("given")
    expect(arms.nth(0)).to_contain_text("compound 0000")
    page.get_by_label("Search sites").fill("0999")
    expect(sites).to_have_count(1)
    expect(sites.first).to_contain_text("site-0999")

    for sequence in range(2, 22):
        body = upload(SITES[0], sequence, range(0, 1000, 200)).to_json(PROBLEM.arms)
        large.lab.call("POST", "/v1/studies/library/uploads", body)
    expect(page.locator("[data-position]")).to_have_attribute("data-position", "80")
    expect(page.locator('[data-part="engine"] dd').first).to_have_text("80")
    assert page.locator("tr").count() < 100
    assert max(page.evaluate("busy"), default=0) < LONGEST
    window.check(large.viewer)


def test_a_picture_of_the_first_forty(large: Large, open_window: Callable[..., Window]) -> None:
    page = open_window(large.server.url).sign_in(large.viewer)
    expect(page.locator(".arms tbody tr")).to_have_count(25)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the arms as PNG").click()
    head = download.value.path().read_bytes()[:24]
    assert int.from_bytes(head[20:24]) == 2 * (28 * 41 + 96)
