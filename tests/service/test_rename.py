"""A study gets another name while its sites work: nothing is lost, nobody has to do anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from serving import Process, serving

import bestarm
from bestarm.client.server.connection import Connection
from bestarm.errors import Refused, UserError

PROBLEM = bestarm.Problem(["A", "B"], sigma=0.3, name="ligands")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with serving(folder=tmp_path) as process:
        with process.admin() as admin:
            admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict()})
        yield process


def token(server: Process, **who: str) -> str:
    with server.admin() as admin:
        return str(admin.call("POST", "/v1/studies/ligands/tokens", who)["token"])


def renamed(server: Process, old: str, new: str) -> dict[str, Any]:
    with server.admin() as admin:
        return admin.call("POST", f"/v1/studies/{old}/rename", {"name": new})


def test_a_site_in_the_middle_of_a_batch_comes_back_under_the_name_that_it_knows(
    server: Process, tmp_path: Path
) -> None:
    """It is offline while its study is renamed twice."""
    secret, journal = token(server, role="agent", agent="lab-a"), tmp_path / "lab-a.db"
    with bestarm.connect(server.url, token=secret, study="ligands", journal=journal) as lab:
        first, *rest = lab.ask(1000)
        lab.tell(first, 0.5)
        before = lab.terms.fingerprint
    with bestarm.connect(NOWHERE, token=secret, journal=journal) as lab:  # away
        for trial in rest[:-1]:
            lab.tell(trial, 0.5)
    for old, new in (("ligands", "phosphines"), ("phosphines", "ligands-2027"), ("ligands", "ligands-2027")):
        assert renamed(server, old, new)["study"] == new
    with bestarm.connect(server.url, token=secret, study="ligands", journal=journal) as lab:
        lab.tell(rest[-1], 0.5)
        assert lab.ask(1)
        assert lab.study()["uploads"] == 1
        assert lab.study()["study"] == "ligands-2027"
        assert lab.site == "ligands/lab-a"  # what is written on its worksheets stays true
        assert lab.terms.fingerprint == before
    with bestarm.connect(NOWHERE, token=secret, study="ligands-2027", journal=journal) as lab:
        assert lab.open  # it has learned the new name, and needs no server to know
    with pytest.raises(UserError, match="belongs to study 'ligands', not 'solvents'"):
        bestarm.connect(NOWHERE, token=secret, study="solvents", journal=journal)


def test_the_log_its_proof_and_tokens_stay_what_they_are(server: Process, tmp_path: Path) -> None:
    secret, viewer = token(server, role="agent", agent="lab-a"), token(server, role="viewer")
    body = {
        "problem": PROBLEM.fingerprint,
        "agent": "lab-a",
        "sequence": 1,
        "tally": {"A": [2, 1.5], "B": [2, 1.0]},
    }
    with Connection(server.url, secret) as lab:
        lab.call("POST", "/v1/studies/ligands/join")
        first = lab.call("POST", "/v1/studies/ligands/uploads", body)
    renamed(server, "ligands", "phosphines")
    with Connection(server.url, secret) as lab, Connection(server.url, viewer) as looks:
        for name in ("ligands", "phosphines"):
            assert lab.call("POST", f"/v1/studies/{name}/uploads", body) == first  # again is harmless
            assert looks.call("GET", f"/v1/studies/{name}/status")["study"] == "phosphines"
        assert [study["study"] for study in looks.call("GET", "/v1/studies")["studies"]] == ["phosphines"]
        export = looks.call("GET", "/v1/studies/ligands/export")
        with pytest.raises(Refused, match="this token is for study 'phosphines' only"):
            looks.call("GET", "/v1/studies/other/status")
    assert (export["study"], export["problem"]["name"]) == ("phosphines", "phosphines")
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    frame = bestarm.read_export(path).to_pandas()
    assert frame[["agent", "arm", "pulls", "reward_sum"]].values.tolist() == [
        ["lab-a", "A", 2, 1.5],
        ["lab-a", "B", 2, 1.0],
    ]


def test_a_name_that_leads_to_a_study_is_not_given_to_another(server: Process) -> None:
    renamed(server, "ligands", "phosphines")
    with server.admin() as admin:
        for name, sentence in (
            ("ligands", "study 'phosphines' was called 'ligands' before"),
            ("phosphines", "there is a study 'phosphines' already"),
        ):
            body = {"problem": PROBLEM.to_dict() | {"name": name}}
            with pytest.raises(Refused, match=sentence):
                admin.call("POST", "/v1/studies", body)
        admin.call("POST", "/v1/studies", {"problem": PROBLEM.to_dict() | {"name": "other"}})
        for name in ("ligands", "phosphines"):
            with pytest.raises(Refused, match="take another name"):
                admin.call("POST", "/v1/studies/other/rename", {"name": name})
        for wrong in ("", "two words", "-x", "x" * 65, 7):
            with pytest.raises(Refused, match=r"name is .* it must be 1 to 64 letters A-Z"):
                admin.call("POST", "/v1/studies/other/rename", {"name": wrong})
        with pytest.raises(Refused, match="there is no study 'nobody'"):
            admin.call("POST", "/v1/studies/nobody/rename", {"name": "x"})
        assert renamed(server, "phosphines", "ligands")["study"] == "ligands"  # its own name again
        assert {one["study"] for one in admin.call("GET", "/v1/studies")["studies"]} == {"ligands", "other"}


def test_an_archived_study_is_left_out_of_lists_and_goes_on(server: Process) -> None:
    secret = token(server, role="agent", agent="lab-a")
    with server.admin() as admin, Connection(server.url, secret) as lab:
        for _ in range(2):
            assert admin.call("POST", "/v1/studies/ligands/archive")["archived"]
        assert admin.call("GET", "/v1/studies")["studies"] == []
        (row,) = admin.call("GET", "/v1/studies?archived=true")["studies"]
        assert (row["study"], row["archived"], row["state"]) == ("ligands", True, "open")
        assert lab.call("GET", "/v1/studies")["studies"][0]["study"] == "ligands"  # a site has no other
        assert lab.call("POST", "/v1/studies/ligands/join")["reply"]["plan"]
        with pytest.raises(Refused, match="archived is 'yes'; it must be true or false"):
            admin.call("GET", "/v1/studies?archived=yes")
        assert not admin.call("POST", "/v1/studies/ligands/unarchive")["archived"]
        assert len(admin.call("GET", "/v1/studies")["studies"]) == 1


def test_another_process_on_the_same_storage_learns_the_new_name(server: Process, tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    storage = f"sqlite:///{tmp_path / 'bestarm.db'}"
    (folder / "admin-token").write_text(server.admin_token)
    with (
        serving("--storage", storage, folder=folder) as second,
        Connection(second.url, server.admin_token) as there,
    ):
        assert there.call("GET", "/v1/studies/ligands")["study"] == "ligands"
        renamed(server, "ligands", "phosphines")
        assert there.call("GET", "/v1/studies/phosphines")["study"] == "phosphines"
