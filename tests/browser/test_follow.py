"""The page follows a study from its first upload to the verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Window
from federation import Federation
from playwright.sync_api import Page, expect
from serving import Process

import bestarm

MEANS = {"alpha": 0.9, "beta": 0.75, "gamma": 0.6, "delta": 0.5}
PNG = b"\x89PNG\r\n\x1a\n"


def problem(name: str, epsilon: float = 0.0) -> bestarm.Problem:
    values = list(MEANS.values())
    # Sites that are alike: only then have arms intervals of their own.
    return bestarm.Problem(list(MEANS), name=name, sigma=0.3, epsilon=epsilon, means=values, sites="alike")


@pytest.fixture
def study(server: Process, folder: Path, request: pytest.FixtureRequest) -> Iterator[Federation]:
    method = getattr(request, "param", "sharp")
    made = Federation(
        server,
        problem(f"follow-{request.node.name[:40].strip(']').replace('[', '-')}", 0.01),
        ["oslo", "rome", "york"],
        folder,
        method,
    )
    with made:
        yield made


def shows(page: Page, name: str, text: str) -> None:
    """A part of the page says exactly this, within a few seconds."""
    expect(page.locator(f'[data-part="{name}"]')).to_have_text(text)


def fact(page: Page, name: str) -> str:
    """One of the numbers for engineers, which are folded away."""
    row = page.locator('[data-part="engine"] div', has=page.get_by_text(name, exact=True))
    return row.locator("dd").inner_text()


@pytest.mark.parametrize("study", ["sharp", "famabpe"], indirect=True)
def test_a_whole_study(study: Federation, open_window: Callable[..., Window]) -> None:
    window = open_window(study.server.url)
    page = window.sign_in(study.viewer)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{study.problem.name} ○ Waiting")
    shows(page, "leader", "Nobody yet")
    shows(page, "longer", "Not known yet")
    expect(page.locator(".sites tbody tr")).to_have_count(3)

    study.step(7)
    expect(page.locator("[data-position]")).to_have_attribute("data-position", "7")
    expect(page.locator(".pill")).to_have_text("● Running")
    status = study.status()
    assert status["state"] == "open"
    expect(page.locator(".facts dd").first).to_have_text(f"{status['samples']:,}")
    page.get_by_text("For engineers").click()
    assert (fact(page, "Uploads"), fact(page, "Communications")) == ("7", "14")
    shows(page, "leader", status["verdict"]["leader"])
    shows(page, "sure", status["progress"])
    expect(page.locator('[data-part="longer"]')).to_contain_text("more")
    by_name = {arm["arm"]: arm for arm in status["arms"]}
    rows = page.locator(".arms tbody tr")
    expect(rows.first).to_contain_text("Leader")
    best_first = sorted(status["arms"], key=lambda arm: arm["rank"])
    expect(rows.locator("bdi")).to_have_text([arm["arm"] for arm in best_first])
    expect(rows.filter(has_text=status["verdict"]["challenger"])).to_contain_text("Challenger")
    for place in range(4):
        name = rows.nth(place).locator("bdi").inner_text()
        expect(rows.nth(place).locator(".pulls > span > span").first).to_have_text(
            f"{by_name[name]['pulls']:,}"
        )
        shown = float(rows.nth(place).locator(".estimate span").first.inner_text().replace("−", "-"))
        assert shown == pytest.approx(by_name[name]["mean"], abs=0.006)
        low, high = (
            rows.nth(place).locator(".estimate span").nth(1).inner_text().replace("−", "-").split(" to ")
        )
        assert (float(low), float(high)) == pytest.approx(
            (by_name[name]["low"], by_name[name]["high"]), abs=0.006
        )
    for site in status["sites"]:
        row = page.locator(".sites tbody tr", has=page.get_by_text(site["agent"], exact=True))
        expect(row.locator("td").nth(1)).to_have_text(f"{site['samples']:,}")
        expect(row.locator("td").nth(2)).to_have_text(site["asked"])
    for key in ("ruled_out", "stopping_now", "better"):
        expect(page.locator('[data-part="answers"]')).to_contain_text(status["answers"][key])
    expect(page.locator('[data-part="answers"]')).to_contain_text(status["answers"]["changes"][0])
    expect(page.locator('[data-part="lately"] li')).to_have_count(7)  # four tokens, three joined

    while not all(lab.finished for lab in study.labs):
        study.step()
    status = study.status()
    assert status["verdict"]["arm"] == "alpha"
    expect(page.get_by_role("region", name="Verdict")).to_be_visible()
    shows(page, "answer", "alpha")
    shows(page, "guarantee", status["promise"].splitlines()[0])
    expect(page.locator(".pill").first).to_have_text("✓ Finished")
    expect(page.locator('[data-part="announce"]')).to_contain_text("The best arm is")
    expect(page).to_have_title(f"✓ \u2068alpha\u2069 – {study.problem.name} – bestarm")
    expect(page.locator("[data-position]")).to_have_attribute("data-position", str(status["uploads"]))
    heading = "Evidence" if status["method"] == "sharp" else "Breaking index"
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    window.check(study.viewer)


def test_time_or_samples_and_the_numbers_below(study: Federation, open_window: Callable[..., Window]) -> None:
    study.step(14)
    page = open_window(study.server.url).sign_in(study.viewer)
    page.get_by_label("Time", exact=True).check()
    page.get_by_text("The latest numbers").click()
    table = page.locator('[data-part="number-rows"] tr')
    expect(table).to_have_count(10)
    history = study.status()["history"]
    assert [row.locator("td").first.inner_text() for row in table.all()] == [str(k) for k in range(14, 4, -1)]
    expect(table.first.locator("td").nth(2)).to_have_text(f"{history[-1][1]:,}")
    study.step()
    expect(table.first.locator("td").first).to_have_text("15")
    label = page.locator('[data-part="chart"]').get_attribute("aria-label")
    assert label is not None
    said = r"Chart\. Evidence after [\d,]+ samples: (\d+|under 1) %; the answer is known at 100 %\."
    assert re.fullmatch(said, label)
    expect(page.locator('[data-part="progress-text"]')).to_contain_text("At 100 % the answer is known.")


def test_exports(study: Federation, open_window: Callable[..., Window], folder: Path) -> None:
    study.step(5)
    window = open_window(study.server.url)
    page = window.sign_in(study.viewer)
    expect(page.locator(".arms tbody tr")).to_have_count(4)
    saved: dict[str, bytes] = {}
    for name in ("CSV", "JSON", "Save this chart as PNG", "Save the arms as PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        saved[path.name.removeprefix(study.problem.name)] = path.read_bytes()
    assert json.loads(saved[".json"]) == study.admin.call("GET", f"{study.path}/export?format=json")
    lines = saved[".csv"].decode().splitlines()
    assert lines[0] == "position,agent,sequence,received_at,arm,pulls,reward_sum"
    assert sum(int(line.split(",")[5]) for line in lines[1:]) == study.status()["samples"]
    for picture in (saved["-progress.png"], saved["-arms.png"]):
        assert picture.startswith(PNG)
        assert int.from_bytes(picture[16:20]) == 1800
        assert len(picture) > 10_000
    window.check(study.viewer)


def test_a_study_that_is_closed_says_so(study: Federation, open_window: Callable[..., Window]) -> None:
    study.step(3)
    study.admin.call("POST", f"{study.path}/close")
    page = open_window(study.server.url).sign_in(study.viewer)
    expect(page.locator(".pill").first).to_have_text("■ Closed")
    shows(page, "longer", "Closed")
