"""Makes the pictures of the dashboard in docs/images, from a real server and real agents.

    .venv/bin/python scripts/screenshots.py [FOLDER]

With a FOLDER all that an administrator sees is among them, at two widths and in both themes.

The server's clock is moved by this script, so that a study of three weeks takes a few seconds. It needs
Chromium (scripts/install-test-tools.sh) and looks best with the font Inter installed.
"""

from __future__ import annotations

import heapq
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import bestarm
from bestarm.client.server.connection import Connection
from bestarm.protocol.messages import reply_from_json
from bestarm.service.http.app import create_app
from bestarm.service.http.service import Limits
from bestarm.service.storage import Storage

FOLDER = Path(__file__).parents[1] / "docs" / "images"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]

LIGANDS = {
    "SPhos": 0.81,
    "XPhos": 0.74,
    "RuPhos": 0.69,
    "dppf": 0.64,
    "Xantphos": 0.58,
    "DavePhos": 0.47,
    "PPh₃": 0.31,
}
CITIES = ["basel", "boston", "kyoto", "leipzig", "lund", "mumbai", "porto", "toronto"]


class Clock:
    """The server's time; the script moves it."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


class Federation:
    """A study and its sites, which work at their own pace on the script's clock."""

    def __init__(
        self, admin: Connection, clock: Clock, problem: bestarm.Problem, method: str, sites: list[str]
    ) -> None:
        self.clock, self.problem = clock, problem
        self.random = random.Random(problem.name)
        body = {"problem": problem.to_dict(), "method": method, "agents": len(sites)}
        admin.call("POST", "/v1/studies", body)
        self.path = f"/v1/studies/{problem.name}"
        built = bestarm.method(method, problem, len(sites))
        self.agents = {name: bestarm.Agent(built, name=name) for name in sites}
        self.hours = {name: self.random.uniform(0.3, 1.2) for name in sites}
        self.lines: dict[str, Connection] = {}
        self.due: list[tuple[datetime, str]] = []
        self.admin = admin

    def join(self, name: str) -> None:
        token = self.admin.call("POST", f"{self.path}/tokens", {"role": "agent", "agent": name})["token"]
        self.lines[name] = Connection(self.admin.url, token)
        reply = self.lines[name].call("POST", f"{self.path}/join")["reply"]
        self.agents[name].receive(reply_from_json(reply, self.problem))
        self.plan(name)

    def plan(self, name: str) -> None:
        """When a site will have done its plan."""
        hours = sum(self.random.expovariate(1 / self.hours[name]) for _ in range(self.agents[name].plan.size))
        heapq.heappush(self.due, (self.clock.moment + timedelta(hours=hours), name))

    def step(self, silent: tuple[str, ...] = ()) -> float:
        """The next upload; returns the evidence after it."""
        moment, name = heapq.heappop(self.due)
        if name in silent:
            return self.evidence
        self.clock.moment = max(self.clock.moment, moment)
        agent, upload = self.agents[name], None
        assert self.problem.means is not None
        for trial in agent.ask(10**9):
            mean = self.problem.means[self.problem.arms.index(trial.arm)]
            upload = agent.tell(trial, self.random.gauss(mean, self.problem.sigma))
        assert upload is not None
        answer = self.lines[name].call("POST", f"{self.path}/uploads", upload.to_json(self.problem.arms))
        agent.receive(reply_from_json(answer["reply"], self.problem))
        if not agent.finished:
            self.plan(name)
        return self.evidence

    @property
    def evidence(self) -> float:
        verdict = self.admin.call("GET", self.path)["verdict"]
        return 2.0 if verdict["stopped"] else verdict["evidence"]

    def run(self, until: float, silent: tuple[str, ...] = (), after: float = 0.0, least: int = 0) -> None:
        """Go on until the evidence and so many samples are there; some sites fall silent past `after`."""
        evidence = self.evidence
        while (evidence < until or (evidence < 1.0 and self.samples < least)) and self.due:
            evidence = self.step(silent if evidence >= after else ())

    @property
    def samples(self) -> int:
        found: int = self.admin.call("GET", self.path)["samples"]
        return found


def problem(name: str, means: dict[str, float], sigma: float, **more: Any) -> bestarm.Problem:
    return bestarm.Problem(list(means), name=name, sigma=sigma, delta=0.05, means=list(means.values()), **more)


@contextmanager
def serving(clock: Clock) -> Iterator[Connection]:
    """A server on a free port, and a connection as its administrator."""
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(f"sqlite:///{folder}/bestarm.db", now=clock)
        secret = storage.admit(None).result()
        limits = Limits(rate=0, stale_after=40 * 3600)
        server = uvicorn.Server(
            uvicorn.Config(create_app(storage, limits), port=0, log_level="error", ws="none")
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            with Connection(f"http://127.0.0.1:{port}", secret or "") as admin:
                yield admin
        finally:
            server.should_exit = True
            thread.join()
            storage.close()


def open_page(
    browser: Browser, url: str, token: str, *, dark: bool = False, width: int = 1280, height: int = 800
) -> Page:
    """The dashboard, signed in."""
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=2 if width < 500 else 1.5,
        locale="en-GB",
        timezone_id="Europe/Berlin",
    )
    page.goto(url)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Open").click()
    page.locator("tbody tr").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(900)
    return page


def shoot(page: Page, path: Path, *, full: bool = False) -> None:
    """A picture, with a palette of its own: a third of the size, and no difference to see."""
    page.screenshot(path=path, full_page=full)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} {path.stat().st_size / 1000:.0f} kB")
    page.close()


def main(folder: Path, everything: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    with serving(clock) as admin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        others(admin, clock)
        limits = {"control": "PPh₃", "budget": 1500, "deadline": "2026-04-30"}
        ligands = Federation(admin, clock, problem("suzuki-ligands", LIGANDS, 0.25, **limits), "sharp", CITIES)
        for name in CITIES:
            ligands.join(name)
        ligands.run(until=0.15, least=120)
        for verb, reason in (("close", "the laboratories are audited"), ("reopen", "all is well")):
            admin.call("POST", f"{ligands.path}/{verb}", {"reason": reason})
            clock.moment += timedelta(hours=5)
        mend(admin, ligands.path, "basel")
        ligands.run(until=0.5, silent=("lund",), after=0.15, least=260)
        clock.moment += timedelta(minutes=7)
        viewer = admin.call("POST", f"{ligands.path}/tokens", {"role": "viewer"})["token"]
        token = admin_token(admin)
        shoot(open_page(browser, admin.url, token, height=450), folder / "dashboard-list.png")
        shoot(open_page(browser, admin.url, viewer, height=1364), folder / "dashboard-light.png")
        shoot(open_page(browser, admin.url, viewer, height=1364, dark=True), folder / "dashboard-dark.png")
        shoot(open_page(browser, admin.url, viewer, width=390, height=844), folder / "dashboard-phone.png")
        for dark in (False, True):
            for width in (1280, 390):
                look = f"{'dark' if dark else 'light'}-{width}"
                acting(browser, admin.url, token, folder, look, dark=dark, width=width, all_of_it=everything)
        ligands.run(until=1.5, silent=("lund",))
        clock.moment += timedelta(minutes=3)
        shoot(open_page(browser, admin.url, viewer, height=760), folder / "dashboard-verdict.png")
        benches(browser, admin, folder, everything)
        browser.close()


def acting(
    browser: Browser, url: str, token: str, folder: Path, look: str, *, dark: bool, width: int, all_of_it: bool
) -> None:
    """What an administrator does: the form for a new study, an invitation, the whole page with its menu."""
    if look == "light-1280" or all_of_it:
        page = open_page(browser, url, token, dark=dark, width=width, height=820)
        page.get_by_role("link", name="New study").click()
        page.get_by_label("Name of the study").fill("buchwald-bases")
        page.get_by_label("Options, one on each line").fill("K3PO4\nCs2CO3\nNaOtBu\nDBU")
        page.get_by_text("Everything else").click()
        page.locator('[data-part="expected"] li').nth(2).wait_for()
        page.get_by_label("Budget").fill("400")
        page.get_by_text("Working it out…").wait_for()  # anew, with the budget
        page.locator('[data-part="expected"] li').nth(2).wait_for()
        shoot(page, folder / ("dashboard-create.png" if look == "light-1280" else f"create-{look}.png"))
        page = open_page(browser, url, token, dark=dark, width=width, height=760)
        page.get_by_role("link", name="suzuki-ligands").click()
        page.get_by_role("button", name="Invite a site").click()
        page.get_by_label("Name of the site").fill("vienna")
        page.keyboard.press("Enter")
        page.get_by_alt_text("The link as a QR code").wait_for()
        page.wait_for_timeout(300)
        shoot(page, folder / ("dashboard-invite.png" if look == "light-1280" else f"invite-{look}.png"))
    if all_of_it:
        page = open_page(browser, url, token, dark=dark, width=width, height=900)
        page.get_by_role("link", name="suzuki-ligands").click()
        page.locator("[data-position]").wait_for()
        page.wait_for_timeout(900)
        page.get_by_text("Change…").click()
        shoot(page, folder / f"whole-{look}.png", full=True)
        page = open_page(browser, url, token, dark=dark, width=width, height=900)
        page.get_by_role("link", name="suzuki-ligands").click()
        page.get_by_role("button", name="More about basel").click()
        page.get_by_role("button", name="Correct batch 1", exact=True).click()
        page.wait_for_timeout(300)
        shoot(page, folder / f"correct-{look}.png")


def benches(browser: Browser, admin: Connection, folder: Path, all_of_it: bool) -> None:
    """A site in the browser, in the middle of a plate, with a mistake that was just typed."""
    study = bestarm.Problem(list(LIGANDS)[:4], name="hydrogenation", reward_range=[0, 1])
    admin.call("POST", "/v1/studies", {"problem": study.to_dict(), "method": "sharp", "agents": 4})
    looks = {"bench": (False, 1280), "bench-phone": (False, 390), "bench-dark": (True, 1280)}
    for city, (name, (dark, width)) in zip(("graz", "linz", "bern"), looks.items(), strict=True):
        if name != "bench" and not all_of_it:
            continue
        body = {"role": "agent", "agent": city}
        token = admin.call("POST", "/v1/studies/hydrogenation/tokens", body)["token"]
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme="dark" if dark else "light",
            device_scale_factor=2 if width < 500 else 1.5,
            locale="en-GB",
        )
        page = context.new_page()
        page.goto(f"{admin.url}/#/join/hydrogenation/{token}")
        page.get_by_role("button", name="Begin").click()
        field = page.locator('[data-part="rows"] input')
        for place, reward in enumerate(("0.73", "0,68", "0.81", "0.64", "0.77", "0.7", "0.59", "84")):
            field.nth(place).fill(reward)
            field.nth(place).press("Enter")
            page.wait_for_timeout(80)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        shoot(page, folder / f"{name}.png")
        context.close()


def mend(admin: Connection, path: str, site: str) -> None:
    """Correct the last batch of a site, by a little."""
    batch = admin.call("GET", f"{path}/sites/{site}")["batches"][0]
    counts = {arm: list(row) for arm, row in batch["counts"].items()}
    row = next(iter(counts.values()))
    row[1] += 0.01
    body = {"agent": site, "sequence": batch["sequence"], "counts": counts, "reason": "a typing mistake"}
    admin.call("POST", f"{path}/corrections", body)


def admin_token(admin: Connection) -> str:
    token: str = admin.call("POST", "/v1/tokens", {})["token"]
    return token


def others(admin: Connection, clock: Clock) -> None:
    """More studies for the list."""
    enzymes = {f"variant {k}": 0.5 - 0.03 * abs(k - 7) for k in range(1, 21)}
    settled = Federation(admin, clock, problem("enzyme-variants", enzymes, 0.1), "sharp", CITIES[:5])
    for name in CITIES[:5]:
        settled.join(name)
    settled.run(until=1.5)
    solvents = {"toluene": 0.7, "dioxane": 0.62, "THF": 0.55, "DMF": 0.4}
    closed = Federation(admin, clock, problem("solvents", solvents, 0.3), "sharp", CITIES[:3])
    for name in CITIES[:3]:
        closed.join(name)
    closed.run(until=0.45)
    admin.call("POST", f"{closed.path}/close")
    prompts = {f"prompt {letter}": 0.9 - 0.05 * k for k, letter in enumerate("ABCDEF")}
    paper = Federation(admin, clock, problem("prompt-templates", prompts, 0.2), "famabpe", CITIES[:4])
    for name in CITIES[:4]:
        paper.join(name)
    paper.run(until=0.3)
    Federation(
        admin, clock, problem("assay-temperature", {"30 °C": 0.5, "37 °C": 0.6}, 0.1), "sharp", CITIES[:2]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, everything=len(sys.argv) > 1)
