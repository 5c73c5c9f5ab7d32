"""`bestarm serve` tells a webhook and a post office: killed, started again, twice on one database."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import pytest
from listening import Hook, Post
from postgres import postgres
from serving import Process, serving
from uploads import small_problem

PROBLEM = small_problem()
SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    return file


def create(server: Process, name: str = "ligands") -> None:
    problem = PROBLEM.to_dict() | {"name": name}
    with server.admin() as admin:
        admin.call("POST", "/v1/studies", {"problem": problem, "agents": 2})


def settle(server: Process, name: str = "ligands") -> None:
    with server.admin() as admin:
        token = admin.call("POST", f"/v1/studies/{name}/tokens", {"role": "agent", "agent": "lab-a"})["token"]
        lab = type(admin)(server.url, token)
    with lab:
        joined = lab.call("POST", f"/v1/studies/{name}/join")
        body = {"problem": joined["reply"]["problem"], "agent": "lab-a", "sequence": 1}
        tally = {"A": [200, 180.0], "B": [200, 100.0], "C": [200, 60.0]}
        lab.call("POST", f"/v1/studies/{name}/uploads", body | {"tally": tally})


def said_by(server: Process, words: str) -> None:
    """Wait until a server has written this to its stderr."""
    until = monotonic() + 30
    while words not in (server.folder / "stderr").read_text():
        assert monotonic() < until
        sleep(0.02)


def test_a_hook_and_a_letter(tmp_path: Path, secret: Path) -> None:
    with Hook() as hook, Post() as post:
        options = ["--webhook", hook.url, "--webhook-secret-file", str(secret)]
        options += ["--smtp", f"{post.host}:{post.port}", "--smtp-tls", "none"]
        options += ["--mail-from", "bot@example.org", "--mail-to", "ada@example.org, max@example.org"]
        with serving(*options, folder=tmp_path) as server:
            create(server)
            settle(server)
            ((headers, body),) = hook.arrived.wait(1)
            told = json.loads(body)
            assert (told["event"], told["study"], told["verdict"]["arm"]) == ("settled", "ligands", "A")
            assert headers["Bestarm-Signature"].startswith("sha256=")
            _, to, _, letter = post.arrived.wait(1)[0]
            assert (letter["Subject"], len(to)) == ("ligands: the answer is known", 2)
            with server.admin() as admin:
                admin.call("POST", "/v1/studies/ligands/close", {"reason": "we go home"})
            assert json.loads(hook.arrived.wait(2)[1][1])["why"] == "we go home"
            post.arrived.wait(2)
            shown = Path(f"/proc/{server.process.pid}/cmdline").read_text()
            secrets = (SECRET, server.admin_token)
            assert not any(one in shown for one in secrets)
            assert server.stop() == 0
        everything = str(hook.arrived) + str(post.arrived) + (tmp_path / "stderr").read_text()
        assert not any(one in everything for one in secrets)
        assert (len(hook.arrived), len(post.arrived)) == (2, 2)


def test_killed_between_the_commit_and_the_telling(tmp_path: Path, secret: Path) -> None:
    with Hook() as hook:
        options = ["--webhook", hook.url, "--webhook-secret-file", str(secret)]
        hook.answers = [503]
        with serving(*options, folder=tmp_path) as server:
            create(server)
            create(server, "other")
            settle(server)
            hook.arrived.wait(1)  # and refused
            said_by(server, "status 503")
            server.stop(signal.SIGKILL)
        with serving(*options, folder=tmp_path) as server:
            hook.arrived.wait(2)
            settle(server, "other")
            server.stop(signal.SIGKILL)  # the upload was answered a moment ago
        with serving(*options, folder=tmp_path) as server:
            hook.arrived.wait(3, 60)  # if it was under way at the kill, it is told after half a minute
            assert server.stop() == 0
        told = [json.loads(body) for _, body in hook.arrived]
        ids = {one["study"]: {other["id"] for other in told if other["study"] == one["study"]} for one in told}
        assert ids.keys() == {"ligands", "other"}
        assert [len(one) for one in ids.values()] == [1, 1]


def test_a_hook_that_hangs_holds_up_neither_uploads_nor_the_end(tmp_path: Path, secret: Path) -> None:
    with Hook() as hook:
        hook.hangs.set()
        options = ["--webhook", hook.url, "--webhook-secret-file", str(secret)]
        with serving(*options, folder=tmp_path) as server:
            for name in ("ligands", "other"):
                create(server, name)
            settle(server)
            hook.arrived.wait(1)
            began = monotonic()
            settle(server, "other")
            assert server.stop() == 0
            assert monotonic() - began < 6


def test_two_servers_on_one_database_tell_once(tmp_path: Path, secret: Path) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(postgres(durable=False)).database()
        hook = stack.enter_context(Hook())
        servers = []
        for k in range(2):
            (tmp_path / str(k)).mkdir()
            options = ["--storage", url, "--webhook", hook.url, "--webhook-secret-file", str(secret)]
            servers.append(stack.enter_context(serving(*options, folder=tmp_path / str(k))))
        for k in range(6):
            create(servers[k % 2], f"study-{k}")
        for k in range(6):
            settle(servers[k // 3], f"study-{k}")
        hook.arrived.wait(6)
        create(servers[0], "study-6")
        settle(servers[1], "study-6")
        hook.arrived.wait(7)
        for server in servers:
            assert server.stop() == 0
        told = sorted(json.loads(body)["study"] for _, body in hook.arrived)
        assert told == [f"study-{k}" for k in range(7)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--webhook", "https://host/x"], "belong together"),
        (["--webhook", "host", "--webhook-secret-file", "secret"], "such as https://host/path"),
        (["--webhook", "https://host/x", "--webhook-secret-file", "none"], "none: the secret can't be read"),
        (["--smtp", "host"], "it must be HOST:PORT"),
        (["--smtp", "host:25"], "needs --mail-from and --mail-to"),
        (["--mail-to", "a@b"], "--smtp is missing"),
        (["--smtp", "h:25", "--mail-from", "a@b", "--mail-to", "c@d", "--smtp-tls", "maybe"], "starttls, tls"),
        (["--smtp", "h:25", "--mail-from", "a@b", "--mail-to", "c@d", "--smtp-user", "me"], "belong together"),
        (["--smtp", "h:25", "--mail-from", "a", "--mail-to", "c@d"], "is not an address"),
    ],
)
def test_options_that_can_not_be_used(
    tmp_path: Path, secret: Path, options: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from bestarm.cli.main import app
    from bestarm.errors import UserError

    monkeypatch.chdir(tmp_path)
    assert "BESTARM_SMTP_PASSWORD" not in os.environ
    with pytest.raises(UserError, match=sentence):
        CliRunner().invoke(app, ["serve", *options], catch_exceptions=False)
