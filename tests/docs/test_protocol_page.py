"""The site on the page about the protocol is a site: the same log and verdict as with the package's own."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, blocks
from serving import Process, serving

from bestarm import Problem, connect

(SITE,) = (block.text for block in blocks(ROOT / "docs" / "protocol.md") if block.file == "site.py")
PROBLEM = Problem(["PPh3", "XPhos", "dppf"], name="ligands", means=[0.6, 0.9, 0.5], sigma=0.1, delta=0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(folder=tmp_path_factory.mktemp("server")) as process:
        yield process


def study(server: Process, name: str, method: str) -> dict[str, str]:
    """A new study, and what a site has to know to take part."""
    with server.admin() as admin:
        body = {"problem": PROBLEM.to_dict() | {"name": name}, "method": method, "agents": 2}
        admin.call("POST", "/v1/studies", body)
        made = admin.call("POST", f"/v1/studies/{name}/tokens", {"role": "agent", "agent": "lab-a"})
    return {"BESTARM_URL": server.url, "BESTARM_STUDY": name, "BESTARM_TOKEN": made["token"]}


def log(server: Process, name: str) -> dict[str, Any]:
    """What the server has in the end."""
    with server.admin() as admin:
        export = admin.call("GET", f"/v1/studies/{name}/export?format=json")
    uploads = [
        {key: row[key] for key in ("position", "agent", "sequence", "tally")} for row in export["uploads"]
    ]
    return {"uploads": uploads, "verdict": export["verdict"], "verdicts": export["verdicts"]}


def own_site(settings: dict[str, str], journal: Path) -> None:
    """The package's own site, with the same instrument."""
    done: Counter[str] = Counter()
    truth = dict(zip(PROBLEM.arms, PROBLEM.means.tolist(), strict=True))  # type: ignore[union-attr]
    with connect(settings["BESTARM_URL"], token=settings["BESTARM_TOKEN"], journal=journal) as lab:
        while not lab.finished:
            for trial in lab.ask(max(lab.agent.to_hand_out, 1), wait=None):
                number = done[trial.arm]
                done[trial.arm] += 1
                lab.tell(trial, random.Random(f"{trial.arm} {number}").gauss(truth[trial.arm], 0.1))


def start(folder: Path, settings: dict[str, str]) -> subprocess.Popen[str]:
    (folder / "site.py").write_text(SITE)
    command = [sys.executable, "site.py"]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_needs_an_http_client_and_the_standard_library() -> None:
    used = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(SITE))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert used - set(sys.stdlib_module_names) == {"httpx"}
    assert len(SITE.splitlines()) < 100


@pytest.mark.parametrize("method", ["sharp", "famabpe"])
def test_it_leads_to_the_same_log_and_verdict(server: Process, tmp_path: Path, method: str) -> None:
    theirs, ours = study(server, f"page-{method}", method), study(server, f"own-{method}", method)
    own_site(ours, tmp_path / "lab.db")
    with start(tmp_path, theirs) as site:
        said, wrong = site.communicate(timeout=120)
    assert (said.startswith("XPhos is best, after "), wrong) == (True, "")
    assert log(server, f"page-{method}") == log(server, f"own-{method}")
    with start(tmp_path, theirs) as again:
        assert again.communicate(timeout=60)[0] == said


def test_a_kill_changes_nothing(server: Process, tmp_path: Path) -> None:
    theirs, ours = study(server, "page-killed", "famabpe"), study(server, "own-killed", "famabpe")
    own_site(ours, tmp_path / "lab.db")
    memory = tmp_path / "site.json"
    for trials in (2, 5, 9):
        with start(tmp_path, theirs) as site:
            while site.poll() is None and done(memory) < trials:
                time.sleep(0.001)
            site.kill()
            site.communicate(timeout=60)
    with start(tmp_path, theirs) as site:
        assert site.communicate(timeout=120)[0].startswith("XPhos is best, after ")
    assert log(server, "page-killed") == log(server, "own-killed")


def done(memory: Path) -> int:
    """How many experiments a site has done."""
    return sum(json.loads(memory.read_text())["done"].values()) if memory.exists() else 0


def test_it_says_what_the_server_says(server: Process, tmp_path: Path) -> None:
    settings = study(server, "page-refused", "sharp")
    with start(tmp_path, settings | {"BESTARM_TOKEN": "x" * 43}) as site:
        assert "this token is unknown" in site.communicate(timeout=60)[1]
    assert site.returncode == 1
