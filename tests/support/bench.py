"""A site's bench in a real browser: its modules one by one, and the page as a person uses it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from browsing import Window
from playwright.sync_api import Browser, Page, expect
from serving import Process

import bestarm
from bestarm.service.view.exports.export_file import ExportFile
from bestarm.service.view.exports.verify import replay


def evaluate(page: Page, module: str, body: str, given: Any = None) -> Any:
    """What a function body returns that sees one of the bench's modules by its name, and `given`."""
    code = f"async (given) => {{ const {module} = await import('./bench/{module}.js'); {body} }}"
    return page.evaluate(code, given)


class Study:
    """A study on a running server, and what its log says in the end."""

    def __init__(self, server: Process, problem: bestarm.Problem, agents: int = 2) -> None:
        self.server, self.problem, self.name = server, problem, problem.name
        self.path = f"/v1/studies/{problem.name}"
        with server.admin() as admin:
            body = {"problem": problem.to_dict(), "method": "sharp", "agents": agents}
            admin.call("POST", "/v1/studies", body)

    def token(self, agent: str) -> str:
        with self.server.admin() as admin:
            made = admin.call("POST", f"{self.path}/tokens", {"role": "agent", "agent": agent})
        return str(made["token"])

    def log(self, folder: Path) -> list[dict[str, Any]]:
        """The entries of the log but for the notes of tokens; every verdict in it was recomputed."""
        with self.server.admin() as admin:
            raw = admin.send("GET", f"{self.path}/export?format=json").content
        file = folder / f"{self.name}.json"
        file.write_bytes(raw)
        replay(ExportFile(file))
        entries: list[dict[str, Any]] = json.loads(raw)["entries"]
        return [entry for entry in entries if entry["kind"] != "token made"]

    def tallies(self, folder: Path, agent: str) -> list[dict[str, Any]]:
        """What an agent has uploaded, in its order."""
        mine = [entry for entry in self.log(folder) if entry["kind"] == "uploaded" and entry["agent"] == agent]
        return [entry["tally"] for entry in mine]


class Bench(Window):
    """A window with a bench in it, which sends what a site sends."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        super().__init__(browser, url, **options)
        self.acts = True

    def begin(self, study: Study, token: str, plate: int = 6) -> Page:
        """Follow an invitation, and say how large plates are."""
        self.page.goto(f"{self.url}/#/join/{study.name}/{token}")
        self.page.get_by_label("Trials that fit").fill(str(plate))
        self.page.get_by_role("button", name="Begin").click()
        expect(self.rows.first).to_be_visible()
        return self.page

    @property
    def rows(self) -> Any:
        return self.page.locator('[data-part="rows"] tr')

    @property
    def line(self) -> Any:
        return self.page.locator('[data-part="line"]')

    def trials(self) -> list[tuple[int, str]]:
        """The open trials and their arms."""
        return [(trial, arm) for trial, arm in self.page.evaluate(OPEN)]

    def tell(self, rewards: Iterable[tuple[int, float]]) -> None:
        """Type rewards into their fields."""
        self.page.evaluate(TYPE, [[trial, repr(reward)] for trial, reward in rewards])

    def state(self) -> dict[str, Any]:
        """What the journal in this browser has, on its disk."""
        found: dict[str, Any] = self.page.evaluate(STATE)
        return found


OPEN = """() => [...document.querySelectorAll('[data-part="rows"] tr')]
  .filter((row) => row.told === null).map((row) => [row.trial, row.querySelector("bdi").textContent])"""
TYPE = """(rewards) => {
  for (const [trial, text] of rewards) {
    const row = [...document.querySelectorAll('[data-part="rows"] tr')].find((one) => one.trial === trial);
    if (!row) continue;
    row.input.value = text;
    row.input.dispatchEvent(new Event("change"));
  }
}"""
STATE = """async () => {
  const [{ name }] = (await indexedDB.databases()).filter((one) => one.name.startsWith("bestarm/"));
  const opened = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await opened(indexedDB.open(name));
  const reading = database.transaction(["site", "batches", "fixes"]);
  const site = await opened(reading.objectStore("site").get("now"));
  const batches = await opened(reading.objectStore("batches").getAll());
  database.close();
  return { site, batches };
}"""


def reward_of(trial: int, arm: str) -> float:
    """What an experiment gives, the same whenever it is asked for."""
    mean = {"A": 0.9, "B": 0.6, "C": 0.5}[arm]
    return random.Random(f"{trial}/{arm}").gauss(mean, 0.1)
