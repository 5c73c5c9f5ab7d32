"""A server and sites under fire, and what must be true of their files afterwards."""

from __future__ import annotations

import socket
import sqlite3
from collections import defaultdict
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from processes import UNIT, Nursery

from bestarm import Problem, Server, Upload, method
from bestarm.client.server.connection import Connection
from bestarm.protocol.messages import verdict_to_json

SITES = ("lab-a", "lab-b", "lab-c")
STUDIES = [f"study-{k}" for k in range(1, 21)]
WITH_ITEMS = STUDIES[::4]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Federation:
    """A server and some sites, each a process with a name."""

    def __init__(self, nursery: Nursery, storage: str, folder: Path) -> None:
        self.nursery, self.folder = nursery, folder
        port, token_file = free_port(), folder / "admin-token"
        options = (
            "--storage",
            storage,
            "--port",
            str(port),
            "--admin-token-file",
            str(token_file),
            "--rate",
            "0",
        )
        self.server = options
        self.lives = 0
        nursery.start("server", "serve", *options)
        self.url = f"http://127.0.0.1:{port}"
        self.admin = Connection(self.url, token_file.read_text().strip())
        self.tokens: dict[str, dict[str, str]] = {site: {} for site in SITES}
        for study in STUDIES:
            items = study in WITH_ITEMS
            problem = Problem(["A", "B", "C"], name=study, sigma=0.3 * UNIT, delta=0.05, items=items)
            body = {"problem": problem.to_dict(), "method": "sharp", "agents": len(SITES), "parameters": {}}
            self.admin.call("POST", "/v1/studies", body)
            for site in SITES:
                made = self.admin.call("POST", f"/v1/studies/{study}/tokens", {"role": "agent", "agent": site})
                self.tokens[site][study] = made["token"]
        for site in SITES:
            self.start(site)

    def start(self, name: str) -> None:
        if name == "server":
            self.nursery.start(name, "serve", *self.server)
            return
        self.lives += 1
        arguments = {"url": self.url, "tokens": self.tokens[name], "folder": str(self.folder), "name": name}
        self.nursery.start(name, "site", arguments | {"seed": self.lives, "done": str(self.folder / "done")})

    def kill_and_restart(self, names: list[str]) -> None:
        for name in names:
            self.nursery.kill(name)
        for name in names:
            self.start(name)

    def await_rewards(self, number: int) -> None:
        """Until the sites have told so many more."""
        ledgers = [self.folder / f"{site}.ledger" for site in SITES]
        sizes = [0]
        deadline = monotonic() + 60
        while len(sizes) < 2 or sizes[-1] < sizes[1] + number:
            assert monotonic() < deadline
            sizes.append(sum(path.read_bytes().count(b"\n") for path in ledgers if path.exists()))
            sleep(0.02)

    def finish(self) -> None:
        """Let every site send what it has and go home."""
        (self.folder / "done").touch()
        for site in SITES:
            assert self.nursery.wait(site) == 0

    def export(self, study: str) -> dict[str, Any]:
        return self.admin.call("GET", f"/v1/studies/{study}/export?format=json")


def check_verdicts(exports: dict[str, dict[str, Any]], stopped: int) -> None:
    """What the server says is what its log says; some studies ended under fire."""
    found = 0
    for export in exports.values():
        problem = Problem.from_dict(export["problem"])
        fields = ("agent", "sequence", "tally")
        messages = [{key: row[key] for key in fields} for row in export["uploads"]]
        uploads = [
            Upload.from_json(message | {"problem": problem.fingerprint}, problem) for message in messages
        ]
        built = method(export["method"], problem, export["agents"], **export["parameters"])
        assert verdict_to_json(Server.replay(built, uploads).verdict) == export["verdict"]
        assert [row["position"] for row in export["uploads"]] == list(range(1, len(uploads) + 1))
        found += export["verdict"]["stopped"]
    assert found >= stopped


def check_rewards(exports: dict[str, dict[str, Any]], folder: Path, told: int) -> int:
    """Ledger ⊆ journal = log, for every site, study and arm; and there were more than so many: how many."""
    found = 0
    for site in SITES:
        ledger: dict[str, dict[str, tuple[str, float]]] = defaultdict(dict)
        for line in (folder / f"{site}.ledger").read_text().splitlines():
            study, trial, arm, reward = line.split()
            assert trial not in ledger[study]
            ledger[study][trial] = (arm, float(reward))
        for study, export in exports.items():
            journal = read_journal(folder / f"{site}-{study}.db")
            assert ledger[study].items() <= journal.items()
            assert sums(journal.values()) == uploaded(export, site)
            found += len(ledger[study])
    assert found > told
    return found


def read_journal(path: Path) -> dict[str, tuple[str, float]]:
    """All rewards in a site's journal, by trial."""
    if not path.exists():
        return {}
    database = sqlite3.connect(path)
    rows = database.execute(
        "SELECT trial, arm, reward FROM told"
        " UNION ALL SELECT trial, arm, reward FROM batch WHERE event = 'told'"
    ).fetchall()
    database.close()
    assert len({trial for trial, _, _ in rows}) == len(rows)
    return {str(trial): (arm, reward) for trial, arm, reward in rows}


def sums(rewards: Any) -> dict[str, tuple[int, float]]:
    """Pulls and reward sums by arm; the rewards are whole numbers, so the sums are exact."""
    found: dict[str, tuple[int, float]] = {}
    for arm, reward in rewards:
        pulls, total = found.get(arm, (0, 0.0))
        found[arm] = (pulls + 1, total + reward)
    return found


def uploaded(export: dict[str, Any], site: str) -> dict[str, tuple[int, float]]:
    """What the log has of a site."""
    found: dict[str, tuple[int, float]] = {}
    sequences = []
    for row in export["uploads"]:
        if row["agent"] == site:
            sequences.append(row["sequence"])
            for arm, (pulls, total, *pairs) in row["tally"].items():
                before = found.get(arm, (0, 0.0))
                found[arm] = (before[0] + pulls, before[1] + total)
                assert bool(pairs) == (export["study"] in WITH_ITEMS)
    assert sequences == list(range(1, len(sequences) + 1))
    return found
