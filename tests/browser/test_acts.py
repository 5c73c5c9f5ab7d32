"""What an administrator does on the page, with the keyboard alone; a viewer is offered none of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Window, axe_source
from federation import Federation
from playwright.sync_api import Page, expect
from serving import Process
from uploads import small_problem

from bestarm import Problem

DIFFER = Problem(["A", "B", "C"], name="changed", sigma=0.3, means=[0.9, 0.6, 0.3])


def serious(page: Page) -> list[str]:
    page.evaluate(axe_source())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']} {one['nodes'][0]['target']}" for one in grave]


def acting(open_window: Callable[..., Window], server: Process, address: str = "", **options: object) -> Page:
    window = open_window(server.url, **options)
    window.acts = True
    return window.sign_in(server.admin_token, address)


def call(server: Process, method: str, path: str) -> Any:
    with server.admin() as admin:
        return admin.call(method, path)


def change(page: Page, label: str) -> None:
    """Open the menu and choose, by keyboard."""
    expect(page.get_by_text("Change…")).to_be_visible()
    page.get_by_text("Change…").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=label, exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_study_is_made_and_a_site_invited(
    theme: str, width: int, server: Process, open_window: Callable[..., Window]
) -> None:
    page = acting(open_window, server, "#/new", color_scheme=theme, viewport={"width": width, "height": 900})
    expect(page.get_by_role("heading", name="New study")).to_be_visible()
    name = f"made-{theme}"
    page.keyboard.type(name)  # the first field has the focus
    page.keyboard.press("Tab")
    page.keyboard.type("PPh3\nXPhos\n\n  SPhos \n")
    lines = page.locator('[data-part="expected"] li')
    expect(lines.first).to_contain_text("experiments of all sites together")
    said = lines.all_inner_texts()
    assert len(said) == 3 or said[-1].startswith("Narrower gaps take longer")  # on a slow machine
    assert serious(page) == []
    page.get_by_text("Everything else").click()
    page.get_by_label("Control").fill("nobody")
    page.get_by_role("button", name="Make the study").click()
    expect(page.get_by_role("alert")).to_contain_text("control is 'nobody'")  # the server's own sentence
    page.get_by_label("Control").fill("PPh3")
    page.get_by_label("Budget").fill("90")
    page.get_by_label("Lowest and highest").fill("0 to 100")
    assert serious(page) == []
    page.get_by_label("Budget").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    problem = call(server, "GET", f"/v1/studies/{name}")["problem"]
    assert [arm["name"] for arm in problem["arm"]] == ["PPh3", "XPhos", "SPhos"]
    assert (problem["control"], problem["budget"], problem["reward_range"]) == ("PPh3", 90, [0, 100])

    page.get_by_role("button", name="Invite a site").press("Enter")
    page.get_by_label("Name of the site").fill("lab a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("agent is 'lab a'; it must be")
    page.get_by_label("Name of the site").fill("lab-a")
    page.keyboard.press("Enter")
    token = page.get_by_label("Token", exact=True).input_value()
    link = page.get_by_label("Link", exact=True).input_value()
    assert link == f"{server.url}/#/join/{name}/{token}"
    expect(page.get_by_alt_text("The link as a QR code")).to_be_visible()
    assert page.get_by_alt_text("The link as a QR code").evaluate("(one) => one.naturalWidth") > 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Invite a site")).to_be_focused()
    assert call(server, "GET", f"/v1/studies/{name}/tokens")["tokens"][0]["agent"] == "lab-a"

    page.get_by_role("button", name="Invite a site").press("Enter")
    page.get_by_label("For").select_option("viewer")
    page.get_by_role("button", name="Make an invitation").press("Enter")
    link = page.get_by_label("Link", exact=True).input_value()
    page.keyboard.press("Escape")
    viewer = open_window(server.url).page
    viewer.goto(link)  # a viewer has no more than a browser, too
    expect(viewer.get_by_role("heading", level=1)).to_contain_text(name)
    expect(viewer.get_by_text("Change…")).to_be_hidden()

    change(page, "Tokens…")
    button = page.get_by_role("button", name="Revoke the token of lab-a")
    box = button.bounding_box()
    assert box is not None
    assert box["height"] < 40  # in one line
    button.press("Enter")
    page.get_by_role("button", name="Revoke it").press("Enter")
    expect(page.get_by_text("Revoked")).to_be_visible()
    tokens = call(server, "GET", f"/v1/studies/{name}/tokens")["tokens"]
    assert [one["agent"] for one in tokens if one["revoked_at"]] == ["lab-a"]


def test_an_invitation_is_copied_without_https_too(server: Process, open_window: Callable[..., Window]) -> None:
    with server.admin() as admin:
        admin.call("POST", "/v1/studies", {"problem": small_problem("copied").to_dict()})
    window = open_window(server.url)
    window.acts = True
    window.page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page = window.sign_in(server.admin_token, "#/studies/copied")
    page.get_by_role("button", name="Invite a site").click()
    page.get_by_label("Name of the site").fill("lab-a")
    page.keyboard.press("Enter")
    link = page.get_by_label("Link", exact=True).input_value()
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Copy the link")).to_have_text("Copied")
    page.get_by_role("button", name="I have passed it on").click()
    page.goto(f"{server.url}/#/new")
    page.get_by_label("Name of the study").focus()
    page.keyboard.press("Control+V")
    expect(page.get_by_label("Name of the study")).to_have_value(link)


def test_names_stay_whole_where_a_batch_is_corrected_on_a_phone(
    server: Process, folder: Path, open_window: Callable[..., Window]
) -> None:
    names = ["DavePhos", "Xantphos"]
    problem = Problem(names, name="narrow", means=[0.9, 0.6], sigma=0.3)
    with Federation(server, problem, ["oslo"], folder) as study:
        study.step()
        page = acting(open_window, server, "#/studies/narrow", viewport={"width": 390, "height": 844})
        page.get_by_role("button", name="More about oslo").click()
        page.get_by_role("button", name="Correct batch 1").click()
        for name in names:
            lines = page.get_by_role("rowheader", name=name, exact=True).last.evaluate(
                "(one) => { const all = document.createRange(); all.selectNodeContents(one);"
                " return new Set([...all.getClientRects()].map(({ top }) => top)).size; }"
            )
            assert lines == 1


def test_a_study_is_changed(server: Process, folder: Path, open_window: Callable[..., Window]) -> None:
    with Federation(server, DIFFER, ["oslo", "rome"], folder) as study:
        study.step(2)
        page = acting(open_window, server, "#/studies/changed")
        arms = page.locator(".arms tbody tr")
        expect(arms).to_have_count(3)

        change(page, "Add an arm")
        page.get_by_label("Name of the arm").fill("A")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("arm: the study has, or had, an arm 'A' already.")
        page.get_by_label("Name of the arm").fill("E")
        page.get_by_label("Why").fill("a new idea")
        page.keyboard.press("Enter")
        expect(arms).to_have_count(4)
        expect(page.get_by_text("Change…")).to_be_focused()

        change(page, "Withdraw an arm")
        page.get_by_label("Arm", exact=True).select_option("E")
        page.get_by_label("Why").fill("no longer sold")
        page.keyboard.press("Enter")
        expect(arms).to_have_count(3)

        page.get_by_role("button", name="More about oslo").press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("Asked to do:")
        page.get_by_role("button", name="Correct batch 1").press("Enter")
        counts = study.admin.call("GET", f"{study.path}/sites/oslo")["batches"][0]["counts"]
        arm, row = next(iter(counts.items()))
        box = page.get_by_label(f"Sum of {arm}", exact=True)
        assert float(box.input_value()) == row[1]
        box.fill("0.5")
        page.get_by_label("Why").fill("a typo")
        assert serious(page) == []
        page.get_by_role("button", name="Correct it").press("Enter")
        expect(page.get_by_role("dialog").get_by_text("Corrected")).to_be_visible()
        page.keyboard.press("Escape")
        batch = study.admin.call("GET", f"{study.path}/sites/oslo")["batches"][0]
        assert (batch["corrected"], batch["counts"][arm][1]) == (True, 0.5)

        change(page, "Close the study")
        expect(page.get_by_role("dialog")).to_contain_text("No site can join or send any more")
        page.get_by_label("Why").fill("enough")
        page.keyboard.press("Enter")
        expect(page.locator(".pill").first).to_have_text("■ Closed")
        expect(page.get_by_role("button", name="Invite a site")).to_be_hidden()
        change(page, "Open it again")
        page.get_by_role("button", name="Open it", exact=True).press("Enter")
        expect(page.locator(".pill").first).to_have_text("● Running")

        change(page, "Rename")
        page.get_by_label("New name").fill("changed-2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("changed-2")
        change(page, "Archive")
        page.get_by_role("button", name="Archive it").press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("link", name="All studies").click()
        expect(page.get_by_role("link", name="changed-2")).to_have_count(0)
        page.get_by_label("Archived ones too").check()
        expect(page.get_by_role("link", name="changed-2")).to_be_visible()

        happened = study.status()["answers"]["lately"]
        kinds = [one["kind"] for one in happened]
        assert kinds[:6] == ["renamed", "reopened", "closed", "corrected", "arm withdrawn", "arm added"]
        assert sorted(kinds[6:]) == ["joined"] * 2 + ["token made"] * 3
        assert all(re.fullmatch(r"admin \w+", one["by"]) for one in happened if one["kind"] != "joined")


def test_a_viewer_only_reads(server: Process, folder: Path, open_window: Callable[..., Window]) -> None:
    with Federation(server, small_problem("looked-at"), ["oslo"], folder) as study:
        study.step(1)
        page = open_window(server.url).sign_in(study.viewer)
        expect(page.locator(".arms tbody tr")).to_have_count(3)
        for name in ("Invite a site", "Add an arm", "Close the study"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_text("Change…")).to_be_hidden()
        page.get_by_role("button", name="More about oslo").click()
        expect(page.get_by_role("dialog")).to_contain_text("Batch 1")
        expect(page.get_by_role("button", name="Correct batch 1")).to_have_count(0)
        page.keyboard.press("Escape")
        page.goto(f"{server.url}/#/new")
        expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        expect(page.get_by_role("link", name="New study")).to_be_hidden()
