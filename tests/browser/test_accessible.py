"""axe-core finds nothing serious on any page, light or dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import Window, axe_source
from federation import Federation
from playwright.sync_api import Page, expect
from serving import Process
from uploads import small_problem


@pytest.fixture(scope="module")
def studies(server: Process) -> Iterator[list[Federation]]:
    made = [
        Federation(server, small_problem(name), ["oslo", "rome"], server.folder) for name in ("open", "settled")
    ]
    made[0].step(3)
    made[1].step(60)
    yield made
    for study in made:
        study.close()


def look(page: Page) -> list[dict[str, Any]]:
    """What axe calls serious or critical, in short."""
    page.evaluate(axe_source())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        {"rule": one["id"], "impact": one["impact"], "where": [node["target"] for node in one["nodes"]][:3]}
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_finding(
    theme: str, width: int, server: Process, studies: list[Federation], open_window: Callable[..., Window]
) -> None:
    window = open_window(server.url, color_scheme=theme, viewport={"width": width, "height": 900})
    page = window.page
    page.goto(server.url)
    expect(page.get_by_label("Token")).to_be_visible()
    assert look(page) == []
    window.sign_in(server.admin_token)
    expect(page.locator(".studies tbody tr")).to_have_count(2)
    assert look(page) == []
    page.get_by_role("link", name="open").click()
    expect(page.locator(".arms tbody tr")).to_have_count(3)
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator('[data-part="number-rows"] tr')).to_have_count(3)
    assert look(page) == []
    page.goto(f"{server.url}/#/studies/settled")
    expect(page.get_by_role("region", name="Verdict")).to_be_visible()
    assert look(page) == []
