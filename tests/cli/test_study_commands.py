"""`bestarm study` and `bestarm token`, against a server process."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import serving

from bestarm.cli.main import run
from bestarm.client.server.connection import Connection

Command = Callable[..., str]


@pytest.fixture
def bestarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """What a command prints, on stderr if it should fail; in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, code: int = 0, said: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["bestarm", *words])
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        assert ended.value.code == code, printed.err
        assert printed.err.count("\n") == (1 if code or said else 0)
        assert said in printed.err
        return printed.out if code == 0 else printed.err

    return call


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--storage", "oracle://x"], "storage is"),
        (["--ssl-certfile", "none.pem"], "belong together"),
        (["--ssl-certfile", "none.pem", "--ssl-keyfile", "none.pem"], "certificate and key can't be used"),
        (["--admin-token-file", "nowhere/token"], "can't be written"),
    ],
)
def test_a_server_that_can_not_start_says_why(bestarm: Command, options: list[str], sentence: str) -> None:
    file = [] if "--admin-token-file" in options else ["--admin-token-file", "token"]
    assert sentence in bestarm("serve", "--port", "0", *file, *options, code=2)
    assert logging.getLogger("bestarm.service").handlers == []  # it goes on in this process


def test_studies_and_tokens_from_the_command_line(
    bestarm: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problem.toml").write_text(
        'name = "pages"\nreward_range = [0.0, 1.0]\nsites = "alike"\n[[arm]]\nname = "A"\n[[arm]]\nname = "B"\n'
    )

    with serving(folder=tmp_path) as server:
        monkeypatch.setenv("BESTARM_URL", server.url)
        monkeypatch.setenv("BESTARM_TOKEN", server.admin_token)
        made = bestarm("study", "create", "problem.toml", "--agents", "3", "--set", "thrift=messages")
        assert "except with probability at most 0.05" in made
        assert "The number of agents is not a part of it" in made
        assert "rewards lie between 0 and 1" in made
        assert "exists" not in made
        assert "already" in bestarm("study", "create", "problem.toml", "--agents", "3", code=2)
        assert "can be simulated, not served" in bestarm(
            "study", "create", "problem.toml", "--agents", "3", "--method", "ugapec", code=2
        )
        shown = json.loads(bestarm("study", "list", "--format", "json"))["studies"]
        assert [study["study"] for study in shown] == ["pages"]
        assert "pages" in bestarm("study", "list")

        token = json.loads(
            bestarm("token", "create", "--study", "pages", "--agent", "lab-a", "--format", "json")
        )
        assert token["role"] == "agent"
        assert token["expires_at"] is None
        viewer = bestarm(
            "token", "create", "--study", "pages", "--viewer", "--expires", "30", said="valid until"
        )
        kept = tmp_path / "lab-b.token"
        create = ("token", "create", "--study", "pages", "--agent", "lab-b", "--out", str(kept))
        assert bestarm(*create, said="for agent lab-b") == ""
        assert kept.stat().st_mode & 0o777 == 0o600
        assert "exists already" in bestarm(*create, code=2)
        assert "number of days" in bestarm("token", "create", "--admin", "--expires", "nan", code=2)
        monkeypatch.setenv("BESTARM_STUDY", "pages")
        assert "pages" in bestarm("study", "show")  # the study that the environment names
        monkeypatch.delenv("BESTARM_STUDY")
        assert "study is not known" in bestarm("study", "show", code=2)
        with Connection(server.url, viewer.strip()) as alone:  # nothing but the token is printed
            assert alone.call("GET", "/v1/studies/pages")["study"] == "pages"
        assert "Give one of" in bestarm("token", "create", "--study", "pages", code=2)

        problem = json.loads(bestarm("study", "show", "pages", "--format", "json"))
        assert problem["parameters"]["thrift"] == "messages"
        with Connection(server.url, token["token"]) as lab:
            joined = lab.call("POST", "/v1/studies/pages/join")
            body = {"problem": joined["reply"]["problem"], "agent": "lab-a"}
            for sequence, (a, b) in enumerate(((190.5, 10.25), (180.5, 20.25)), start=1):
                tally = {"A": [200, a], "B": [200, b]}
                lab.call("POST", "/v1/studies/pages/uploads", body | {"sequence": sequence, "tally": tally})
        assert "the answer is A" in bestarm("study", "show", "pages")

        assert json.loads(bestarm("study", "export", "pages", "--format", "json"))["verdict"]["arm"] == "A"
        bestarm("study", "export", "pages", "--out", "export.json")
        holds = "2 uploads replayed, the answer is A"
        assert holds in bestarm("study", "verify", "export.json")
        assert f"study pages holds: 6 entries unchanged, {holds}" in bestarm("study", "verify", "pages")
        assert "begins with the same 6 entries" in bestarm(
            "study", "verify", "export.json", "--against", "pages"
        )
        assert "name the file first" in bestarm("study", "verify", "pages", "--against", "pages", code=2)
        assert ",A,200,190.5," in bestarm("study", "export", "pages", "--format", "csv").splitlines()[1]
        assert bestarm("study", "report", "pages") == "The report is in report.html.\n"
        written = json.loads(bestarm("study", "report", "pages", "--out", "pages.html", "--format", "json"))
        assert written == {"study": "pages", "file": "pages.html"}
        assert "A is the answer, after 800 samples." in (tmp_path / "pages.html").read_text()
        assert "can't be written" in bestarm("study", "report", "pages", "--out", "nowhere/x.html", code=2)
        changed = (tmp_path / "export.json").read_text().replace("190.5", "190.25")
        (tmp_path / "export.json").write_text(changed)
        assert "position 5 was changed" in bestarm("study", "verify", "export.json", code=1)

        assert "is closed" in bestarm("study", "close", "pages")
        assert "is stopped" in bestarm("study", "reopen", "pages")
        listed = json.loads(bestarm("token", "list", "--study", "pages", "--format", "json"))["tokens"]
        assert [row["role"] for row in listed] == ["agent", "viewer", "agent"]
        assert listed[0]["id"] in bestarm("token", "list")
        assert "is revoked" in bestarm("token", "revoke", listed[0]["id"])
        with Connection(server.url, token["token"]) as lab, pytest.raises(ValueError, match="revoked"):
            lab.call("GET", "/v1/studies/pages")
        assert "there is no study 'nope'" in bestarm("study", "show", "nope", code=2)
    assert "can't be reached" in bestarm("study", "list", code=1)
