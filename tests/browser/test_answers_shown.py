"""The answers of the server, as the page shows them: sentences, meters, a line for each site, what happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from browsing import Window
from federation import Federation
from playwright.sync_api import expect
from serving import Process

from bestarm import Problem

DRAWN = """
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  (window.drawn ??= []).push([text, ...place]);
  return write.call(this, text, ...place);
};
"""
MEANS = {"A": 0.9, "B": 0.6, "C": 0.3}


def test_what_we_know(server: Process, folder: Path, open_window: Callable[..., Window]) -> None:
    limits: dict[str, Any] = {"control": "C", "budget": 900, "deadline": "2099-01-31", "delta": 0.0001}
    problem = Problem(list(MEANS), name="known", sigma=0.3, means=list(MEANS.values()), **limits)
    with Federation(server, problem, ["oslo", "rome", "york"], folder) as study:
        page = open_window(server.url).sign_in(study.viewer)
        chart = page.get_by_role("region", name="Evidence")
        expect(page.locator('[data-part="lately"] li')).to_have_count(7)  # four tokens, three joined
        expect(chart).to_be_hidden()  # there is nothing to see yet
        study.step()
        expect(chart).to_be_visible()
        study.step(8)
        status = study.status()
        assert status["state"] == "open"
        answers = status["answers"]
        known = page.get_by_role("region", name="What we know")
        expect(known).to_contain_text(answers["better"])
        for said in (answers["ruled_out"], answers["stopping_now"], " ".join(answers["changes"])):
            expect(known).to_contain_text(said)
        assert answers["better"].startswith(("A is above C, the control, by ", "Whether A is above or below C"))
        meters = known.locator(".meter")
        expect(meters).to_have_count(2)
        share = meters.first.locator("span").evaluate("(bar) => parseFloat(bar.style.width) / 100")
        assert abs(share - status["samples"] / 900) < 0.001
        assert answers["agreement"] is not None
        sites = page.get_by_role("region", name="Do the sites agree?")
        expect(sites).to_contain_text(answers["agreement"]["sentence"])
        expect(sites.locator("li bdi")).to_have_text([one["site"] for one in answers["agreement"]["sites"]])
        study.admin.call("POST", f"{study.path}/close", {"reason": "enough"})
        lately = page.locator('[data-part="lately"] li').first
        expect(lately).to_contain_text("The study was closed (enough). admin ", timeout=30_000)
        expect(known).to_contain_text(study.status()["end"]["said"])


def test_what_was_answered_before_the_verdict_is_not_said_beside_it(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    problem = Problem(list(MEANS), name="hushed", sigma=0.3, means=list(MEANS.values()))
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        page = open_window(server.url).sign_in(study.viewer)
        study.step(3)
        before = study.status()["answers"]["stopping_now"]
        known = page.get_by_role("region", name="What we know")
        expect(known).to_contain_text(before)
        page.route("**/status", lambda route: route.fulfill(status=503))  # only the stream goes on
        while study.status()["state"] == "open":
            study.step()
        expect(page.locator(".pill")).to_contain_text("Finished")
        expect(known).not_to_contain_text(before)
        page.unroute("**/status")
        expect(known).to_contain_text(study.status()["answers"]["better"], timeout=30_000)


def test_a_verdict_says_what_came_after_it(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    problem = Problem(list(MEANS), name="unsettled", sigma=0.3, means=list(MEANS.values()))
    with Federation(server, problem, ["oslo", "rome"], folder) as study:
        study.step(1)
        while study.status()["state"] == "open":
            study.step()
        batch = study.admin.call("GET", f"{study.path}/sites/oslo")["batches"][-1]
        counts = {
            arm: [row[0], row[1] - 100.0 * (arm == "A"), *row[2:]] for arm, row in batch["counts"].items()
        }
        told = {"agent": "oslo", "sequence": batch["sequence"], "counts": counts, "id": "unit"}
        study.admin.call("POST", f"{study.path}/corrections", told)
        later = study.status()["end"]["later"]
        assert later.startswith("A correction came after the end, and the verdict stays; now ")
        page = open_window(server.url).sign_in(study.viewer)
        verdict = page.get_by_role("region", name="Verdict")
        expect(verdict).to_contain_text(later)
        assert "was settled by the study's test" not in study.status()["answers"]["better"]
        study.admin.call("POST", f"{study.path}/close", {})
        happened = page.locator('[data-part="lately"] li').first
        expect(happened).to_contain_text("The study was closed. admin ", timeout=30_000)


def test_who_is_not_said_of_an_end_that_says_it_itself(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    problem = Problem(list(MEANS), name="spent", sigma=0.3, means=list(MEANS.values()), budget=9, delta=0.0001)
    with Federation(server, problem, ["oslo"], folder) as study:
        while study.status()["state"] == "open":
            study.step()
        page = open_window(server.url).sign_in(study.viewer)
        happened = page.locator('[data-part="lately"] li').first.locator("span")
        expect(happened.first).to_have_text("The budget was used up (9 samples).")


def test_the_axis_of_few_samples_has_each_number_once(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    problem = Problem(["A", "B"], name="few", sigma=0.3, means=[0.9, 0.6])
    with Federation(server, problem, ["oslo"], folder) as study:
        study.step()
        assert study.status()["samples"] == 2
        window = open_window(server.url)
        window.page.add_init_script(DRAWN)
        page = window.sign_in(study.viewer)
        expect(page.get_by_role("region", name="Evidence")).to_contain_text(
            "After the first one there is none yet."
        )
        drawn = [(text, x, y) for text, x, y in page.evaluate("window.drawn") if text]
        below = max(y for _, _, y in drawn)
        marks = {(x, text) for text, x, y in drawn if y == below}
        assert [text for _, text in sorted(marks)] == ["0", "1", "2"]
