"""Sites and servers of different versions say so, and what to install."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_server import FakeServer, open_lab
from real_server import RealServer

from bestarm import UserError, __version__
from bestarm.client.connect import connect
from bestarm.errors import Refused
from bestarm.protocol.version import HEADER, VERSION, check_server, check_site


class OldServer(FakeServer):
    """Answers as the first version did: it knows no other field of a join than the journal, and no header."""

    def _answer(self, request: httpx.Request, body: bytes) -> tuple[int, dict[str, Any]]:
        if request.url.path == "/healthz":
            return 200, {"status": "ok", "version": "0.1.0"}
        if request.url.path.endswith("/join") and set(json.loads(body)) != {"journal"}:
            return 422, {"error": "body: it has 'cannot', which is not one of journal.", "code": "refused"}
        status, answer = super()._answer(request, body)
        return status, {key: value for key, value in answer.items() if key not in ("protocol", "terms")}


@pytest.mark.parametrize("said", [{}, {"plate": 24}])
def test_a_site_says_that_its_server_is_old(tmp_path: Path, said: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"is older than this site: ask the coordinator to pip install .*0\.2"):
        connect("http://fake", token="t", journal=tmp_path / "lab.db", transport=OldServer(), **said)
    lab = open_lab(tmp_path / "lab.db", FakeServer())
    assert lab.agent.plan.size == said.get("plate", 3)  # it is remembered


@pytest.mark.parametrize("path", ["join", "uploads"])
@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        (None, 'an older one: pip install --upgrade "bestarm>=0.2" at the site; its journal opens there'),
        ("1", "an older one"),
        ("two", "an older one"),
        ("3", "a newer one: ask the coordinator to upgrade the server"),
        ("9" * 5000, "a newer one"),
    ],
)
def test_a_server_refuses_a_site_of_another_version(path: str, named: str | None, sentence: str) -> None:
    server = RealServer()
    headers = {"Authorization": "Bearer token-of-lab-a"} | ({} if named is None else {HEADER: named})
    with httpx.Client(base_url="http://fake", headers=headers, transport=server) as client:
        answer = client.post(f"/v1/studies/ligands/{path}", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "protocol")
    assert sentence in answer.json()["error"]
    assert f"this server has bestarm {__version__}" in answer.json()["error"]
    assert server.storage.counters.requests["/v1/studies/{study}/uploads", 409] == (path == "uploads")


def test_both_sides_take_their_own_version_alone() -> None:
    check_site(str(VERSION), __version__)
    check_server(VERSION, "http://host")
    with pytest.raises(Refused, match="newer than this site: pip install --upgrade bestarm"):
        check_server(VERSION + 1, "http://host")
    for named in (True, "2", 1, 2.5, [2]):
        with pytest.raises(Refused, match="older than this site"):
            check_server(named, "http://host")
