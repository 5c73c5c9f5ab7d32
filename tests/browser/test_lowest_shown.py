"""A study that looks for the lowest mean, as the page shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import Process

from bestarm import Problem

MEANS = {"slow": 9.0, "fast": 5.0, "faster": 1.0, "slowest": 20.0}


def test_the_lowest_comes_first(server: Process, folder: Path, open_window: Callable[..., Window]) -> None:
    means = list(MEANS.values())  # and arms of sites that are alike have intervals of their own
    problem = Problem(list(MEANS), name="lowest", sigma=0.1, means=means, goal="lowest", sites="alike")
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(2)
        page = open_window(server.url).sign_in(study.viewer)
        expect(page.locator("[data-position]")).to_have_attribute("data-position", "2")
        expect(page.locator('[data-part="leader"]')).to_have_text("faster")
        expect(page.locator('[data-part="about"]')).to_contain_text("looking for the lowest mean")
        names = page.locator(".arms tbody tr bdi").all_inner_texts()
        assert names[0] == "faster"
        assert [name for name in names if name in ("slow", "slowest")] == ["slow", "slowest"]
        said = study.status()["answers"]["better"]
        assert said.startswith("faster has ")
        expect(page.locator('[data-part="answers"]')).to_contain_text(said)
