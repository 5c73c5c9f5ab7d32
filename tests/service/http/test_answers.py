"""What every answer has, whatever it is about: its headers, and the methods that an address allows."""

from __future__ import annotations

import itertools
import re
import threading
from typing import Any

import pytest

from bestarm.service.http.app import DASHBOARD
from bestarm.service.http.routes import watch

ANYWHERE = [
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/nowhere",
    "/v1/studies",
    "/v1/studies/ligands",
    "/icon.svg",
]
ANYWHERE += ["/v1/studies/ligands/uploads", "/v1/studies/ligands/status", "/v1/studies/ligands/export", "/v1"]


def test_every_answer_is_taken_for_what_it_says_and_kept_by_nobody(world: Any) -> None:
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
    for token, method, path in itertools.product((None, world.admin_token), methods, ANYWHERE):
        answer = world.http(token).request(method, path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", (method, path)
        assert answer.headers["Cache-Control"] in ("no-store", "no-cache"), (method, path)
        assert ("Allow" in answer.headers) == (answer.status_code == 405), (method, path)


def test_what_is_allowed_is_what_the_description_has(world: Any) -> None:
    client = world.http(world.admin_token)
    for path, methods in world.app.openapi()["paths"].items():
        there = {method.upper() for method in methods}
        allowed = sorted(there | ({"HEAD"} if "GET" in there else set()))
        filled = re.sub(r"\{\w+\}", "ligands", path)
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - set(allowed):
            answer = client.request(method, filled)
            assert (answer.status_code, answer.headers["Allow"]) == (405, ", ".join(allowed)), (method, path)


def test_a_head_is_the_answer_without_its_body(world: Any) -> None:
    client = world.http(world.admin_token)
    for path in ("/", "/healthz", "/v1/studies/ligands", "/v1/studies/ligands/export", "/metrics", "/icon.svg"):
        whole, head = client.get(path), client.head(path)
        assert head.status_code == 200
        assert head.content == b""
        assert head.headers["Content-Type"] == whole.headers["Content-Type"]
        if path == "/healthz":
            assert head.headers["Content-Length"] == str(len(whole.content))
    assert client.head("/v1/studies/nope").status_code == 404
    assert client.head("/v1/studies/ligands/events").headers["Content-Type"].startswith("text/event-stream")
    assert world.app.state.service.streams.under_way == 0


def test_a_file_can_be_got_and_nothing_else(world: Any) -> None:
    client = world.http()
    for name in ("", "icon.svg"):
        assert (DASHBOARD / name).exists()
        answer = client.post(f"/{name}")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    for name in ("no-such-file.js", "icon.svg%00", "a" * 300, "a/" * 3000):
        assert client.post(f"/{name}").status_code == 404


def test_refusals_are_counted_and_written_down_once(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    bad = world.http("x" * 43)
    for _ in range(5):
        bad.get("/v1/studies")
    world.http(world.admin_token).get("/v1/studies/nope")
    world.http(world.admin_token).get("/v1/%1b%5b31mred")
    text = world.http(world.admin_token).get("/metrics").text
    assert 'bestarm_refused_total{kind="bad-token"} 5' in text
    assert 'bestarm_refused_total{kind="unknown-study"} 1' in text
    assert [record.levelname for record in caplog.records if "bad-token" in record.message] == ["WARNING"]
    assert "\x1b" not in caplog.text.replace("\\x1b", "")
    assert "\\x1b[31mred" in caplog.text


def test_who_gave_and_took_a_token_is_in_the_log(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="bestarm.service")
    made = world.admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "lab-a"})
    world.admin.call("DELETE", f"/v1/tokens/{made['id']}")
    (admin,) = [token for token in world.admin.call("GET", "/v1/tokens")["tokens"] if token["role"] == "admin"]
    actor = f"admin {admin['id']}"
    assert f"token {made['id']} (agent lab-a of study ligands) was granted by {actor}" in caplog.text
    assert f"token {made['id']} (agent lab-a of study ligands) was revoked by {actor}" in caplog.text
    assert made["token"] not in caplog.text


def test_numbers_come_when_the_storage_stops_answering(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answered a moment ago, and that is believed."""
    client, there = world.http(world.admin_token), threading.Event()
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    monkeypatch.setattr(world.storage, "untold", lambda: there.wait(20))
    assert "bestarm_storage_up 0\n" in client.get("/metrics").text
    assert not there.is_set()
    there.set()
