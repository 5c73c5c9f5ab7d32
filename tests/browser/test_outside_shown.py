"""The page of a study whose test comes from outside, has no intervals, and shows its evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import outside
import pytest
from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import serving

from bestarm.problem import Problem

PROBLEM = Problem(["alpha", "beta", "gamma"], means=[0.9, 0.7, 0.6], sigma=0.3, name="outside")


def test_the_page_claims_nothing_that_the_test_does_not(
    open_window: Callable[..., Window], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BESTARM_PLUGINS", str(outside.plugin(folder)))
    with (
        serving("--rate", "0", folder=folder) as server,
        Federation(server, PROBLEM, ["lab-a", "lab-b"], folder, method="mine") as study,
    ):
        page = open_window(server.url).sign_in(study.viewer)
        said = page.locator('[data-part="arms-text"]')
        expect(said).to_have_text("0 of 3 tried so far.")
        study.step(4)
        expect(said).to_have_text("Estimated means.")
        expect(page.locator('[data-part="progress-title"]')).to_have_text("Evidence")
        expect(page.locator(".arms tbody tr .whisker:visible")).to_have_count(0)
        expect(page.locator(".arms tbody tr .dot:visible")).to_have_count(3)
        facts = page.locator('[data-part="engine"]')
        expect(facts).to_contain_text(f"Communications{study.status()['communications']}")
