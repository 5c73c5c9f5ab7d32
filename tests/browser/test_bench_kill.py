"""A bench that is killed at any moment, loses replies, is opened twice or has no server: all counts once."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench import OPEN, Bench, Study, reward_of
from folders import quick_folder
from playwright.sync_api import Browser, Error, expect
from serving import Process, serving

import bestarm

MOMENTS = int(os.environ.get("BESTARM_MOMENTS", "20"))  # a session has about so many with a plate of six
FREEZE = """(() => {
  let left = %d;
  const gate = () => (--left > 0 ? undefined : ((window.frozen = true), new Promise(() => undefined)));
  const listen = IDBTransaction.prototype.addEventListener;
  IDBTransaction.prototype.addEventListener = function (name, heard, ...rest) {
    const late = async (event) => { await gate(); heard(event); };
    const gated = this.mode === "readwrite" && name === "complete";
    return listen.call(this, name, gated ? late : heard, ...rest);
  };
  const fetched = window.fetch;
  window.fetch = async (path, options = {}) => {
    if (options.method !== "POST") return fetched(path, options);
    await gate();
    const answer = await fetched(path, options);
    await gate();
    return answer;
  };
})()"""

FORGET = """async () => {
  const [{ name }] = (await indexedDB.databases()).filter((one) => one.name.startsWith("bestarm/"));
  const opened = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await opened(indexedDB.open(name));
  const store = database.transaction(["batches"], "readwrite").objectStore("batches");
  const [keys, all] = [await opened(store.getAllKeys()), await opened(store.getAll())];
  for (const [place, { plan, told }] of all.entries()) await opened(store.put({ plan, told }, keys[place]));
  database.close();
}"""


def problem(name: str, **options: Any) -> bestarm.Problem:
    return bestarm.Problem(["A", "B", "C"], name=name, **options)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Process]:
    """A server that a test may kill."""
    with quick_folder() as place, serving("--rate", "0", folder=place) as process:
        yield process


def told_of(state: dict[str, Any]) -> dict[int, tuple[str, float]]:
    """Every reward that a journal has, by its trial; none is there twice."""
    site = state["site"]
    batches = [*state["batches"], *site["uploads"], *site["batches"]]
    all_of_them = [one for batch in batches for one in batch["told"]]
    found = {one["trial"]: (one["arm"], one["reward"]) for one in all_of_them}
    assert len(found) == len(all_of_them)
    return found


def test_killed_at_every_moment(server: Process, browser: Browser, tmp_path: Path) -> None:
    study = Study(server, problem("killed", delta=0.001), agents=1)
    token, reached, finished = study.token("lab-a"), set(), False
    safe: dict[int, float] = {}
    bench = Bench(browser, server.url)
    bench.begin(study, token)
    for moment in range(1, MOMENTS + 1):
        page = bench.context.new_page()
        page.add_init_script(FREEZE % moment)
        bench.page.close()  # whoever waits for the lock gets it
        bench.page = page
        page.goto(f"{server.url}/#/bench")
        for _ in range(200):
            page.wait_for_timeout(15)
            if page.evaluate("window.frozen ?? false"):
                reached.add(moment)
                break
            rows = page.evaluate(
                "[...document.querySelectorAll('[data-part=\"rows\"] tr')].map((r) => [r.trial, r.told])"
            )
            safe |= {trial: float(told) for trial, told in rows if told is not None}
            bench.tell([(trial, reward_of(trial, arm)) for trial, arm in bench.trials()[:2]])
            finished = "finished" in bench.line.inner_text() if bench.line.count() else False
            if finished:
                break
        if finished:
            break
        crash(page)
    last = bench.context.new_page()
    bench.page.close()
    bench.page = last
    last.goto(f"{server.url}/#/bench")
    expect(bench.line).not_to_have_text("", timeout=20_000)
    expect(bench.line).not_to_contain_text("Sending")
    last.wait_for_timeout(300)
    state = bench.state()
    told = told_of(state)
    assert len(reached) >= min(MOMENTS, 12)
    assert all(told[trial][1] == reward for trial, reward in safe.items())
    assert all(reward == reward_of(trial, arm) for trial, (arm, reward) in told.items())
    assert state["site"]["uploads"] == []
    sums = [totals(batch["told"]) for batch in state["batches"]]
    logged = study.tallies(tmp_path, "lab-a")
    assert len(logged) >= 2
    assert [{arm: row[:2] for arm, row in tally.items()} for tally in logged] == sums
    bench.close()


def crash(page: Any) -> None:
    """The tab's process ends at once."""
    with pytest.raises(Error):
        page.goto("chrome://crash")


def totals(told: list[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in told:
        row = found.setdefault(one["arm"], [0, 0.0])
        row[0] += 1
        row[1] += one["reward"]
    return {arm: found[arm] for arm in sorted(found)}


class Instrument:
    """The k-th trial of an arm gives the same at every site, whatever its number; or all of them do.

    Bets are on pairs of trials by their numbers, and which arm a number is for is drawn at each site.
    """

    def __init__(self, steady: bool) -> None:
        self.steady = steady
        self.seen = dict.fromkeys("ABC", 0)
        self.known: dict[int, float] = {}

    def __call__(self, trial: int, arm: str) -> float:
        if trial not in self.known:
            self.seen[arm] += not self.steady
            mean = {"A": 0.9, "B": 0.3, "C": 0.2}[arm]
            drawn = random.Random(f"{arm} {self.seen[arm]}").gauss(mean, 0.05)
            self.known[trial] = min(max(drawn, 0.0), 1.0)
        return self.known[trial]


@pytest.mark.parametrize("kind", ["squares", "bets", "items"])
def test_the_log_is_that_of_the_packages_own_site(
    kind: str, server: Process, browser: Browser, tmp_path: Path
) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "squares": {},
        "bets": {"reward_range": [0, 1]},
        "items": {"items": True},
    }
    options = kinds[kind]
    logs = []
    for who in ("bench", "package"):
        study = Study(server, problem(f"{kind}-{who}", delta=0.2, **options), agents=1)
        token = study.token("lab-a")
        measured = Instrument(steady=kind == "bets")

        if who == "bench":
            bench = Bench(browser, server.url)
            bench.begin(study, token, plate=12)
            while not bench.state()["site"]["verdict"]:
                bench.tell([(trial, measured(trial, arm)) for trial, arm in bench.trials()])
                bench.page.wait_for_timeout(50)
            expect(bench.line).to_contain_text("The study is finished: A is best")
            bench.check(token)
            bench.close()
        else:
            with bestarm.connect(
                server.url, token=token, journal=tmp_path / "lab.db", plate=12, sure=True
            ) as lab:
                while not lab.finished:
                    for trial in lab.ask(12):
                        lab.tell(trial, measured(trial.number, trial.arm))
        logs.append(study.log(tmp_path))
    for log in logs:
        for entry in log:
            for name in ("received_at", "digest", "problem", "journal"):
                entry.pop(name, None)
    mine, theirs = (json.dumps(log, sort_keys=True) for log in logs)
    assert mine == theirs


def test_a_lost_reply_is_asked_for_again(server: Process, browser: Browser, tmp_path: Path) -> None:
    study = Study(server, problem("lost"), agents=1)
    bench = Bench(browser, server.url)
    page = bench.begin(study, study.token("lab-a"))
    lost: list[str] = []

    def lose(route: Any) -> None:
        if len(lost) < 2:
            lost.append(str(route.fetch().status))  # the server has it, and its answer gets lost
            route.abort()
        else:
            route.continue_()

    page.route("**/uploads", lose)
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in bench.trials()])
    expect(bench.line).to_contain_text("Not connected since")
    expect(bench.line).to_contain_text("Connected. All that is complete is sent.", timeout=20_000)
    assert lost == ["200", "200"]
    assert len(study.tallies(tmp_path, "lab-a")) == 1
    assert bench.state()["site"]["sequence"] == 1
    bench.close()


def test_two_tabs(server: Process, browser: Browser) -> None:
    study = Study(server, problem("tabs"), agents=1)
    bench = Bench(browser, server.url)
    first = bench.begin(study, study.token("lab-a"))
    second = bench.context.new_page()
    second.goto(f"{server.url}/#/bench")
    expect(second.get_by_role("status").filter(has_text="Another tab works at this bench")).to_be_visible()
    before = bench.trials()
    bench.tell([(before[0][0], 0.5)])
    expect(first.locator('[data-part="title"]')).to_contain_text("1 of")
    first.close()
    bench.page = second
    expect(second.locator('[data-part="title"]')).to_contain_text("1 of")
    assert bench.trials() == before[1:]
    bench.close()


def test_without_locks_the_journal_itself_refuses_a_second_writer(server: Process, browser: Browser) -> None:
    study = Study(server, problem("unlocked"), agents=1)
    bench = Bench(browser, server.url)
    bench.context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    bench.page.close()
    first = bench.page = bench.context.new_page()
    bench.begin(study, study.token("lab-a"))
    second = bench.context.new_page()
    second.goto(f"{server.url}/#/bench")
    expect(second.locator('[data-part="title"]')).to_contain_text("0 of")
    (trial, _), (other, _), *_ = bench.trials()
    bench.tell([(trial, 0.5)])
    expect(first.locator('[data-part="title"]')).to_contain_text("1 of")
    bench.page = second
    bench.tell([(other, 0.25)])
    expect(second.locator(f"#said-{other}")).to_contain_text("another tab has gone on at this bench")
    assert told_of(bench.state()).keys() == {trial}
    bench.close()


def test_offline_after_a_reload_with_the_server_killed(own: Process, browser: Browser, tmp_path: Path) -> None:
    study = Study(own, problem("offline"), agents=1)
    bench = Bench(browser, own.url)
    page = bench.begin(study, study.token("lab-a"))
    page.wait_for_function("async () => (await caches.keys()).length === 1")
    page.wait_for_function(
        "async () => { const [name] = await caches.keys();"
        " return (await (await caches.open(name)).keys()).some(({ url }) => url.endsWith('/bench/page.js')); }"
    )
    kept = page.evaluate(
        "async () => { const [name] = await caches.keys();"
        " return (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname); }"
    )
    assert not [path for path in kept if path.startswith(("/v1", "/healthz"))]
    trials = bench.trials()
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials[:2]])
    expect(page.locator('[data-part="title"]')).to_contain_text("2 of")
    port = own.url.rpartition(":")[2]
    own.stop(9)
    page.reload()
    expect(page.locator('[data-part="title"]')).to_contain_text("2 of")
    expect(bench.line).to_contain_text("Not connected since")
    assert bench.trials() == trials[2:]
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials[2:]])
    expect(bench.line).to_contain_text("The plate is full and kept here")
    page.reload()
    expect(bench.line).to_contain_text("The plate is full and kept here")
    assert bench.state()["site"]["uploads"][0]["sent"] is False
    page.get_by_role("button", name=f"Correct trial {trials[0][0]}").click()
    page.get_by_label("what was measured").fill("0.5")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator('[data-part="told"]')).to_contain_text("0.5 (was ")
    with serving("--rate", "0", "--port", port, folder=own.folder) as again:
        study.server = again
        expect(bench.line).to_contain_text("Connected. All that is complete is sent.", timeout=40_000)
        (tally,) = study.tallies(tmp_path, "lab-a")
        expected = {
            "told": [
                {"arm": arm, "reward": 0.5 if trial == trials[0][0] else reward_of(trial, arm)}
                for trial, arm in trials
            ]
        }
        assert {arm: row[:2] for arm, row in tally.items()} == totals(expected["told"])
        assert {entry["kind"] for entry in study.log(tmp_path)} == {"joined", "uploaded"}
    bench.close()


@pytest.mark.parametrize("receipts", ["kept", "of an older page"])
def test_what_a_restored_server_has_lost_is_sent_again(
    receipts: str, own: Process, browser: Browser, tmp_path: Path
) -> None:
    study = Study(own, problem("restored", delta=0.001), agents=1)
    bench = Bench(browser, own.url)
    page = bench.begin(study, study.token("lab-a"))

    def plate() -> None:
        trials = bench.trials()
        bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials])
        expect(page.locator('[data-part="title"]')).to_contain_text("0 of")
        page.wait_for_function(f"() => ({OPEN})()[0]?.[0] > {trials[-1][0]}")

    plate()
    database = own.folder / "bestarm.db"
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        source.backup(copy)
    plate()
    page.get_by_role("button", name="Correct trial 7", exact=True).click()
    page.get_by_label("what was measured").fill("0.5")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator('[data-part="told"]')).to_contain_text("0.5 (was ")
    plate()
    if receipts == "of an older page":
        page.evaluate(FORGET)
    before = study.log(tmp_path)
    port = own.url.rpartition(":")[2]
    own.stop(9)
    for name in ("-wal", "-shm"):
        database.with_name(database.name + name).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.db", database)
    with serving("--rate", "0", "--port", port, folder=own.folder) as again:
        study.server = again
        page.reload()
        expect(bench.line).to_contain_text("the server has 1 of the 3 uploads that it answered here")
        expect(bench.line).to_contain_text("“bestarm study restored restored” once")
        expect(bench.line).not_to_contain_text("Not connected")
        assert len(study.tallies(tmp_path, "lab-a")) == 1
        with again.admin() as admin:
            admin.call("POST", f"{study.path}/restored", {"reason": "the disk failed"})
        expect(bench.line).to_contain_text(
            "The server was put back from a backup, and 2 batches that it had lost were sent again",
            timeout=40_000,
        )
        expect(bench.line).to_contain_text("Connected")
        page.reload()  # and not once more
        expect(bench.line).to_contain_text("Connected. All that is complete is sent.")
        after = study.log(tmp_path)
        for kind in ("uploaded", "corrected"):
            sent, sent_again = (
                [(one["sequence"], one["tally"]) for one in log if one["kind"] == kind]
                for log in (before, after)
            )
            assert sent == sent_again
        plate()
        assert len(study.tallies(tmp_path, "lab-a")) == 4
    bench.close()
