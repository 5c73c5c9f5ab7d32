"""A site that takes part without a server: the same lab, and a storage in the place of an address."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from postgres import postgres
from serving import serving

import bestarm
from bestarm import UserError
from bestarm.client.server.connection import Connection
from bestarm.errors import Refused, ServiceError

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.9, "B": 0.5, "C": 0.4}


def measure(trial: bestarm.Trial) -> float:
    return Random(trial.number).gauss(MEANS[trial.arm], 0.1)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A storage with one study in it."""
    url = f"sqlite:///{tmp_path / 'ligands.db'}"
    bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.1).release()
    return url


def test_two_sites_on_one_file(url: str, tmp_path: Path) -> None:
    """Each has a storage of its own open, as two processes have, and sees what the other has sent."""
    with (
        bestarm.connect(url, study="ligands", agent="lab-a") as a,
        bestarm.connect(url, agent="lab-b", journal=tmp_path / "b.db") as b,
    ):
        assert (a.site, b.site) == ("ligands/lab-a", "ligands/lab-b")
        while not (a.finished or b.finished):
            for lab in (a, b):
                for trial in lab.ask(6):
                    lab.tell(trial, measure(trial))
        for lab in (a, b):
            lab.sync()
            assert lab.finished
        assert a.verdict == b.verdict
        assert a.study()["samples"] == b.study()["samples"]
        assert {site["agent"] for site in a.study()["sites"]} == {"lab-a", "lab-b"}
    assert (tmp_path / "ligands.journals" / "ligands" / "lab-a.db").exists()


def test_a_site_goes_on_with_its_journal(url: str) -> None:
    with bestarm.connect(url, agent="lab-a") as lab:
        trials = lab.ask(3)
        lab.tell(trials[0], 0.5)
    with bestarm.connect(url, agent="lab-a") as lab:
        assert lab.ask(2) == trials[1:]
    with bestarm.connect(url, agent="lab-a"), pytest.raises(UserError, match="another process is using it"):
        bestarm.connect(url, agent="lab-a")


def test_a_server_serves_the_same_studies_at_the_same_time(url: str, tmp_path: Path) -> None:
    with serving("--storage", url, folder=tmp_path) as server, server.admin() as admin:
        (study,) = admin.call("GET", "/v1/studies")["studies"]
        assert study["study"] == "ligands"
        token = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "far"})["token"]
        with (
            bestarm.connect(url, agent="near") as near,
            bestarm.connect(server.url, token=token, journal=tmp_path / "far.db") as far,
        ):
            for lab in (near, far, near):
                for trial in lab.ask(6):
                    lab.tell(trial, measure(trial))
                lab.leave()
            status = admin.call("GET", "/v1/studies/ligands/status")
            assert {site["agent"] for site in status["sites"] if site["uploads"]} == {"near", "far"}
            assert near.study()["samples"] == far.study()["samples"] == status["samples"]


def test_a_storage_that_is_away_is_like_a_server_that_is(tmp_path: Path) -> None:
    with postgres(durable=False) as cluster:
        url = cluster.database()
        bestarm.create_study(ARMS, storage=url, name="ligands", sigma=0.1).release()
        with bestarm.connect(url, study="ligands", agent="lab-a", journal=tmp_path / "a.db") as lab:
            lab.ask(4)
    with bestarm.connect(url, study="ligands", agent="lab-a", journal=tmp_path / "a.db") as lab:
        for trial in lab.ask(4):
            assert lab.tell(trial, measure(trial))
        with pytest.raises(ServiceError, match=r"the storage postgresql.* can't be reached") as error:
            lab.sync()
        assert lab.status()["unsent"] == 1
    assert ":secret@" not in str(error.value)
    with pytest.raises(ServiceError, match="can't be reached"):
        bestarm.connect("postgresql+psycopg://me:secret@127.0.0.1:1/x", study="x", agent="me")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "agent is not given; without a server it says which site this is"),
        ({"agent": "lab a"}, "agent is 'lab a'; it must be 1 to 64"),
        ({"agent": "lab-a", "token": "x"}, "token is given, and without a server there is none"),
    ],
)
def test_a_site_must_say_who_it_is(url: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        bestarm.connect(url, study="ligands", **options)


def test_what_is_not_there_leaves_no_trace(tmp_path: Path, url: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Refused, match="there is no study 'solvents'"):
        bestarm.connect(url, study="solvents", agent="me")
    with pytest.raises(UserError, match=r"there is no storage '.*typo.db'"):
        bestarm.connect(f"sqlite:///{tmp_path / 'typo.db'}", agent="me")
    with pytest.raises(UserError, match="is in memory, and a study there is known only to whoever made it"):
        bestarm.connect("sqlite://", agent="me")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_server_needs_a_token_and_may_be_told_who_is_meant(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="token is not given; http://host is a server"):
        bestarm.connect("http://host", agent="me")
    with serving(folder=tmp_path) as server, server.admin() as admin:
        admin.call("POST", "/v1/studies", {"problem": bestarm.Problem(ARMS, name="ligands").to_dict()})
        token = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "lab-a"})["token"]
        with bestarm.connect(server.url, token=token, agent="lab-a", journal=tmp_path / "a.db") as lab:
            assert lab.site == "ligands/lab-a"
        with pytest.raises(UserError, match="it belongs to agent 'lab-a', and this is 'lab-b'"):
            bestarm.connect(server.url, token=token, agent="lab-b", journal=tmp_path / "a.db")


def test_nobody_comes_in_from_outside_without_a_token(url: str, tmp_path: Path) -> None:
    """That a caller within the process needs none is no way in for one who is not."""
    with serving("--storage", url, folder=tmp_path) as server, Connection(server.url, "x" * 43) as stranger:
        with pytest.raises(Refused, match="unknown, expired or revoked"):
            stranger.call("GET", "/v1/studies")
        stranger.http.headers["bestarm.caller"] = "admin"
        with pytest.raises(Refused, match="unknown, expired or revoked"):
            stranger.call("GET", "/v1/studies")


def test_a_site_without_the_servers_packages_is_told_what_to_install(url: str) -> None:
    script = (
        "import sys\nfor name in ('sqlalchemy', 'fastapi'): sys.modules[name] = None\n"
        "import bestarm\n"
        "try: bestarm.connect(sys.argv[1], agent='me')\n"
        "except bestarm.UserError as error: print(error)\n"
        "try: bestarm.create_study\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert 'pip install "bestarm[server]"' in first
    assert 'pip install "bestarm[server]"' in second
