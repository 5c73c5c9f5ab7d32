"""Which site is silent is said by name, at the top and in the table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from browsing import Window
from playwright.sync_api import expect
from serving import serving
from uploads import batch, small_problem

import bestarm
from bestarm.protocol.entries import Join
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import Grant, Role

DAYS = {"oslo": 0.0, "rome": 3.0, "york": 0.5, "bonn": 9.0}


def prepare(folder: Path, name: str, sites: list[str]) -> str:
    """A study whose sites were last heard of so many days ago; returns a viewer's token."""
    problem, ago = small_problem(name), timedelta()
    storage = Storage(f"sqlite:///{folder / 'bestarm.db'}", now=lambda: datetime.now(UTC) - ago)
    study = storage.create(bestarm.method("sharp", problem, 6)).result().study
    for site in sorted(sites, key=lambda site: -DAYS[site]):
        ago = timedelta(days=DAYS[site])
        storage.join(study, Join(site)).result()
        storage.take(study, batch(problem, site, 1, size=1)).result()
    viewer, _ = storage.grant(Grant(Role.VIEWER), study, "admin 7f").result()
    storage.close()
    return viewer


def test_silent_sites_are_called_by_name(open_window: Callable[..., Window], folder: Path) -> None:
    one = prepare(folder, "one", ["oslo", "rome", "york"])
    two = prepare(folder, "two", list(DAYS))
    every = prepare(folder, "every", ["rome", "bonn"])
    with serving("--rate", "0", folder=folder) as server:
        page = open_window(server.url).sign_in(one)
        expect(page.locator('[data-part="silent"]')).to_have_text("▲ 1 silent: rome, for 3 days")
        expect(page.locator('[data-part="site-count"]')).to_have_text("2 active")
        expect(page.locator(".pill").first).to_have_text("● Running")
        names = page.locator(".sites tbody th")
        expect(names).to_have_text(["romeSilent", "york", "oslo"])
        expect(page.locator(".sites tbody time").first).to_have_text("3 days ago")

        page = open_window(server.url).sign_in(two)
        expect(page.locator('[data-part="silent"]')).to_have_text("▲ 2 silent: bonn, rome")

        with server.admin() as admin:
            admin.call("POST", "/v1/studies/two/close", {})
        page = open_window(server.url).sign_in(two)
        expect(page.locator(".pill").first).to_have_text("■ Closed")
        expect(page.locator('[data-part="site-count"]')).to_have_text(str(len(DAYS)))  # nobody is active
        expect(page.locator('[data-part="silent"]')).to_have_text("")

        page = open_window(server.url).sign_in(every)
        expect(page.locator(".pill").first).to_have_text("▲ Silent")
        expect(page.locator('[data-part="site-count"]')).to_have_text("0 active")
