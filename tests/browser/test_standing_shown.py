"""What speaks against each arm, as the page shows it: bars toward a line, and words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import Window, axe_source
from federation import Federation
from playwright.sync_api import Page, expect
from serving import Process
from uploads import small_problem

from bestarm import Problem

MEANS = {"PPh3": 0.72, "XPhos": 0.8, "SPhos": 0.77, "dppf": 0.3}
LINE = 0.75  # of the track, where an arm is ruled out
WIDE = "document.documentElement.scrollWidth"


def ligands(name: str) -> Problem:
    return Problem(list(MEANS), name=name, sigma=0.12, means=list(MEANS.values()), sites="differ")


def shares(page: Page) -> list[float]:
    """How much of its track each bar takes."""
    share = "(bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width"
    return [bar.evaluate(share) for bar in page.locator(".stands tbody .against").all()]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_bars_grow_toward_the_line(
    theme: str, width: int, server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    with Federation(server, ligands(f"standing-{theme}-{width}"), ["oslo", "rome"], folder) as study:
        study.step(6)
        status = study.status()
        standing = status["standing"]
        out = {arm["arm"] for arm in standing["arms"] if arm["ruled_out"]}
        assert "dppf" in out
        assert len(out) < 3
        page = open_window(server.url, color_scheme=theme, viewport={"width": width, "height": 900}).sign_in(
            study.viewer
        )
        box = page.get_by_role("region", name="What speaks against each arm")
        expect(page.get_by_role("region", name="What we know")).to_contain_text(standing["sentence"])
        expect(box).to_contain_text("20 to 1 rules out")
        rows = page.locator(".stands tbody tr")
        expect(rows).to_have_count(4)
        assert rows.first.locator("bdi").inner_text() == standing["leader"]
        wanted = sorted(standing["arms"], key=lambda arm: (arm["arm"] != standing["leader"], arm["odds"]))
        for arm, row, share in zip(wanted, rows.all(), shares(page), strict=True):
            expect(row).to_contain_text(arm["words"])
            reach = LINE * math.log(max(arm["odds"], 1.0)) / math.log(standing["needed"])
            assert share == pytest.approx(min(reach, 1.0), abs=0.01)
            assert (share >= LINE) == arm["ruled_out"]
            assert ("out" in (row.get_attribute("class") or "")) == arm["ruled_out"]
        assert page.evaluate(WIDE) == width
        page.evaluate(axe_source())
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_items_are_counted_and_compared(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    problem = Problem(list(MEANS), name="on-items", sigma=0.12, means=list(MEANS.values()), items=True)
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(24)
        status = study.status()
        out = [arm for arm in status["standing"]["arms"] if arm["ruled_out"]]
        assert out
        page = open_window(server.url).sign_in(study.viewer)
        items = page.get_by_text("Items", exact=True).locator("xpath=following-sibling::dd")
        expect(items).to_have_text(str(status["items"]))
        assert status["items"] == max(arm["pulls"] for arm in status["standing"]["arms"])
        row = page.locator(".stands tbody tr").filter(has_text=out[0]["arm"])
        expect(row).to_contain_text(f"ruled out after {out[0]['pulls']} items")
        (to_leader,) = status["differences"]
        known = [one for one in to_leader["arms"] if one["difference"] is not None]
        assert known
        assert all(one["low"] <= one["difference"] <= one["high"] for one in known)


@pytest.mark.parametrize("control", [None, "PPh3"])
def test_differences_take_the_place_of_intervals(
    control: str | None, server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    name = f"differences-{control}"
    problem = Problem(
        list(MEANS), name=name, sigma=0.12, means=list(MEANS.values()), sites="differ", control=control
    )
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(9)
        while "leader" not in [one["role"] for one in study.status()["differences"]]:
            study.step()  # until somebody has led for a while
        shown = study.status()["differences"]
        assert [one["role"] for one in shown] == (["control", "leader"] if control else ["leader"])
        first = shown[0]
        page = open_window(server.url).sign_in(study.viewer)
        expect(page.locator('[data-part="arms-text"]')).to_have_text(first["sentence"])
        expect(page.locator('[data-part="range-title"]')).to_contain_text(first["to"])
        for arm in first["arms"]:
            row = page.locator(".arms tbody tr", has=page.get_by_text(arm["arm"], exact=True))
            apart = row.locator(".apart").inner_text().replace("−", "-")
            if arm["low"] is None:
                assert apart == ""
                continue
            value, low, high = re.findall(r"-?[0-9.]+", apart)[:3]  # then percents
            for text, exact in ((value, arm["difference"]), (low, arm["low"]), (high, arm["high"])):
                assert float(text) == pytest.approx(exact, abs=0.006)


def test_a_warning_is_shown_in_words(server: Process, folder: Path, open_window: Callable[..., Window]) -> None:
    problem = Problem(
        list(MEANS), name="warned", sigma=0.12, means=list(MEANS.values()), sites="differ", delta=1e-9
    )
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(10)
        page = open_window(server.url).sign_in(study.viewer)
        expect(page.locator("[data-position]")).to_have_attribute("data-position", "10")
        expect(page.locator('[data-part="warnings"]')).to_be_hidden()
        lab = study.labs[0]
        number = lab.agent.sequence
        while lab.agent.sequence == number:  # one batch in which the arms are in another order, by far
            (trial,) = lab.ask()
            lab.tell(trial, -100.0 * MEANS[trial.arm], sure=True)
        (warned,) = [one for one in study.status()["warnings"] if one["kind"] == "batch"]
        box = page.get_by_role("region", name="What speaks against the assumptions")
        expect(box).to_contain_text(warned["seen"])
        expect(box).to_contain_text(warned["meaning"])
        assert "oslo" in warned["seen"]
        page.evaluate(axe_source())
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_a_test_without_odds_has_no_bars(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    with Federation(server, small_problem("no-odds"), ["oslo", "rome"], folder) as study:
        study.step(2)
        page = open_window(server.url).sign_in(study.viewer)
        expect(page.locator("[data-position]")).to_have_attribute("data-position", "2")
        expect(page.locator('[data-part="standing"]')).to_be_hidden()
