"""A site with items: its own list, in a random order that the journal keeps, however one works with it."""

from __future__ import annotations

import csv
import json
import random
import shutil
import sqlite3
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_server import FakeServer
from real_server import RealServer

from bestarm import Lab, Problem, Trial, UserError
from bestarm.cli.lab import at_site
from bestarm.cli.main import run
from bestarm.client.connect import connect

PROBLEM = Problem(["A", "B", "C"], name="ligands", items=True)
SUBSTRATES = [f"s{k}" for k in range(1, 38)]
MEANS = {"A": 0.7, "B": 0.6, "C": 0.4}


def opened(server: FakeServer, path: Path, agent: str = "lab-a", **options: Any) -> Lab:
    return connect("http://fake", token=f"token-of-{agent}", journal=path, transport=server, **options)


def reward(trial: Trial) -> float:
    chance = random.Random(f"{trial.item}/{trial.arm}")
    return round(MEANS[trial.arm] + 0.3 * random.Random(str(trial.item)).random() + chance.gauss(0, 0.02), 4)


def new_server() -> RealServer:
    return RealServer(PROBLEM, name="sharp", agents=1)


def test_items_come_in_a_random_order_and_none_twice(tmp_path: Path) -> None:
    server = new_server()
    seen: list[Any] = []
    with opened(server, tmp_path / "lab.db", items=SUBSTRATES) as lab:
        while len(seen) < 10:
            trials = lab.ask(24)
            seen += dict.fromkeys(trial.item for trial in trials)
            for trial in trials:
                assert lab.tell(trial, random.Random(trial.number).random())
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(SUBSTRATES)
    assert seen != sorted(seen, key=SUBSTRATES.index)


def test_a_plate_half_done_goes_on_in_another_process(tmp_path: Path) -> None:
    """Trials that were open come again with their items, and the upload has all pairs."""
    server = new_server()
    told = Counter[str]()
    for _ in range(500):
        with opened(server, tmp_path / "lab.db", items=SUBSTRATES) as lab:
            trials = lab.ask(6)
            if lab.finished:
                break
            for trial in trials[: random.Random(sum(told.values())).randint(1, 6)]:
                assert lab.tell(trial, reward(trial))
                told[trial.arm] += 1
        shutil.move(tmp_path / "lab.db", tmp_path / "moved.db")  # and in another folder, under another name
        shutil.move(tmp_path / "moved.db", tmp_path / "lab.db")
    else:
        pytest.fail("it never ended")
    uploads = server.server.log
    assert sum(tally.samples for tally in (upload.tally for upload in uploads)) <= sum(told.values())
    named = [
        upload.tally for upload in uploads if max(upload.tally.rivals) >= 0
    ]  # those planned at first have none
    for tally in named:
        assert all(sums[0] == max(tally.counts) for _, sums in tally.duels.values())
    assert len(named) > 3
    assert server.server.verdict.arm == "A"


def test_a_list_that_changed_is_refused(tmp_path: Path) -> None:
    server, path = new_server(), tmp_path / "lab.db"
    opened(server, path, items=SUBSTRATES).close()
    with pytest.raises(UserError, match=r"37 before, 36 now; 's9' is gone"):
        opened(server, path, items=[name for name in SUBSTRATES if name != "s9"])
    with pytest.raises(UserError, match="'s38' is new"):
        opened(server, path, items=[*SUBSTRATES, "s38"])
    with opened(server, path, items=reversed(SUBSTRATES)) as lab:  # only its order is another
        assert lab.ask(3)[0].item in SUBSTRATES
    with opened(server, path) as lab:  # and it need not be given again
        assert lab.ask(3)[0].item in SUBSTRATES


def test_without_a_list_items_are_numbered(tmp_path: Path) -> None:
    server = new_server()
    with opened(server, tmp_path / "lab.db") as lab:
        first = lab.ask(3)
        assert {trial.item for trial in first} == {1}
        for trial in first:
            lab.tell(trial, reward(trial))
        assert {trial.item for trial in lab.ask(1)} == {2}
        with pytest.raises(UserError, match="by number already"):
            lab.keep_items(SUBSTRATES)


def test_how_many_will_do(tmp_path: Path) -> None:
    documents = ["first", "second", "third"]
    with opened(new_server(), tmp_path / "lab.db", items=len(documents)) as lab:
        assert {documents[int(trial.item or 0)] for trial in lab.ask(3)} < set(documents)


def test_a_second_pass_says_what_it_means(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = new_server()
    seen: list[Any] = []
    with opened(server, tmp_path / "lab.db", items=["x", "y"]) as lab:
        while len(seen) < 4:
            for trial in lab.ask(3):
                seen += [trial.item] if trial.item not in seen[-1:] else []
                lab.tell(trial, random.Random(trial.number).random())
        assert lab.notice.startswith("all 2 items were tried; from now on they come again")
    assert lab.notice in caplog.messages
    assert set(seen[:2]) == set(seen[2:4]) == {"x", "y"}


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], "at least one"),
        (["a", "a"], "'a' twice"),
        ([1, "1"], "'1' twice"),
        ([None], "a name or a whole number"),
        ([""], "a name or a whole number"),
        (0, "from 1 to"),
        (True, "must be a number, a file"),
        (2.5, "must be a number, a file"),
        ("missing.txt", "can't be read"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, items: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        opened(new_server(), tmp_path / "lab.db", items=items)


def test_a_study_without_items_takes_no_list(tmp_path: Path) -> None:
    server = RealServer(Problem(["A", "B"], name="ligands"), name="sharp")
    with pytest.raises(UserError, match="'ligands' has no items"):
        opened(server, tmp_path / "lab.db", items=3)


def test_a_trial_of_another_item_is_refused(tmp_path: Path) -> None:
    with opened(new_server(), tmp_path / "lab.db") as lab:
        trial = lab.ask(3)[0]
        with pytest.raises(UserError, match=f"trial {trial.number} is on item 1, not on 's4'"):
            lab.tell(Trial(trial.number, trial.arm, "s4"), 0.5)
        assert lab.tell(Trial(trial.number, trial.arm, "1"), 0.5)


def test_python_worksheets_and_messages_make_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same study three times: by a Lab, by worksheets in the shell, and by somebody else's HTTP client."""
    logs = [by_python(tmp_path), by_worksheets(tmp_path, monkeypatch, capsys), by_messages()]
    assert logs[0] == logs[1] == logs[2]
    assert len(logs[0]) >= 4


def uploads_of(server: RealServer) -> list[Any]:
    export = server.admin.call("GET", "/v1/studies/ligands/export?format=json")
    assert export["verdict"]["arm"] == "A"
    return [row["tally"] for row in export["uploads"]]


def by_python(folder: Path) -> list[Any]:
    server = new_server()
    with opened(server, folder / "python.db") as lab:
        while not lab.finished:
            for trial in lab.ask(24):
                lab.tell(trial, reward(trial))
    return uploads_of(server)


def by_worksheets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[Any]:
    server = new_server()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(at_site, "connect", partial(connect, transport=server))
    Path("bestarm.toml").write_text('url = "http://fake"\ntoken = "token-of-lab-a"\n')
    for number in range(200):
        sheet = Path(f"plate{number}.csv")
        said = shell(monkeypatch, capsys, "ask", "-n", "25", "--worksheet", str(sheet))
        if "finished" in said:
            break
        rows = list(csv.DictReader(sheet.read_text().splitlines()))
        assert list(rows[0])[:3] == ["trial", "item", "arm"]
        assert "whole item" in said, said
        for row in rows:
            row["reward"] = str(reward(Trial(int(row["trial"]), row["arm"], int(row["item"]))))
        with sheet.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        shell(monkeypatch, capsys, "tell", "--worksheet", str(sheet))
    return uploads_of(server)


def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """A command, and what it says to a person."""
    monkeypatch.setattr(sys, "argv", ["bestarm", *words])
    with pytest.raises(SystemExit) as end:
        run()
    said = capsys.readouterr().err
    assert end.value.code == 0, said
    return said


def by_messages() -> list[Any]:
    """All that a site has to do, from plain values."""
    server, item = new_server(), 0
    token = server.admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "lab-a"})[
        "token"
    ]
    headers = {"Authorization": f"Bearer {token}", "Bestarm-Protocol": "2"}
    client = httpx.Client(transport=server.local, base_url="http://local", headers=headers)  # closed with it
    joined = client.post("/v1/studies/ligands/join", json={"journal": "x", "room": 24}).json()
    reply, sequence, terms = joined["reply"], 0, joined["terms"]
    assert terms["items"]
    while reply["kind"] == "download":
        plan, rewards = reply["plan"], {}
        for _ in range(plan[0][1]):
            item += 1
            for arm, _, _ in plan:
                rewards[item, arm] = reward(Trial(0, arm, item))
        items, tally, sequence = sorted({i for i, _ in rewards}), {}, sequence + 1
        for arm, pulls, rival in sorted(plan):
            told = [rewards[i, arm] for i in items]
            d = [terms["pairs"] * (rewards[i, rival] - rewards[i, arm]) for i in items] if rival else []
            tally[arm] = [pulls, added(told), rival, float(len(d)), added(d), added([x * x for x in d])]
        body = {"problem": terms["fingerprint"], "agent": "lab-a", "sequence": sequence, "tally": tally}
        reply = client.post("/v1/studies/ligands/uploads", json=body).json()["reply"]
    return uploads_of(server)


def added(numbers: list[float]) -> float:
    """Added up in their order, as every site does; the sum of Python is more exact than that."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def test_the_journal_is_all_that_knows_the_order(tmp_path: Path) -> None:
    """Two journals draw in different orders, and what is in the file decides."""
    server = new_server()
    orders = []
    for agent in ("lab-a", "lab-b"):
        with opened(server, tmp_path / f"{agent}.db", agent, items=SUBSTRATES) as lab:
            orders.append([lab.journal.items.label(number) for number in range(1, 38)])
        database = sqlite3.connect(tmp_path / f"{agent}.db")
        assert json.loads(database.execute("SELECT labels FROM items").fetchone()[0]) == SUBSTRATES
        database.close()
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(SUBSTRATES)
