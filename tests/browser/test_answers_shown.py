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
