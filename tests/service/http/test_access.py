"""Who may do what: every route, with every kind of caller."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bestarm.errors import Refused

ROUTES = {
    ("GET", "/metrics"): {"admin", "viewer", "other-viewer"},
    ("GET", "/openapi.json"): {"admin", "agent", "viewer", "other-agent", "other-viewer"},
    ("POST", "/v1/studies"): {"admin"},
    ("GET", "/v1/studies"): {"admin", "agent", "viewer", "other-agent", "other-viewer"},
    ("GET", "/v1/studies/ligands"): {"admin", "agent", "viewer"},
    ("POST", "/v1/studies/ligands/close"): {"admin"},
    ("POST", "/v1/studies/ligands/reopen"): {"admin"},
    ("POST", "/v1/studies/ligands/arms"): {"admin"},
    ("POST", "/v1/studies/ligands/arms/withdraw"): {"admin"},
    ("POST", "/v1/studies/ligands/corrections"): {"admin", "agent"},
    ("POST", "/v1/studies/ligands/rename"): {"admin"},
    ("POST", "/v1/studies/ligands/archive"): {"admin"},
    ("POST", "/v1/studies/ligands/unarchive"): {"admin"},
    ("POST", "/v1/studies/ligands/tokens"): {"admin"},
    ("GET", "/v1/studies/ligands/tokens"): {"admin"},
    ("DELETE", "/v1/studies/ligands/tokens/0a1b2c3d4e5f"): {"admin"},
    ("POST", "/v1/estimate"): {"admin"},
    ("POST", "/v1/qr"): {"admin"},
    ("GET", "/v1/token"): {"admin", "agent", "viewer", "other-agent", "other-viewer"},
    ("POST", "/v1/tokens"): {"admin"},
    ("GET", "/v1/tokens"): {"admin"},
    ("DELETE", "/v1/tokens/0a1b2c3d4e5f"): {"admin"},
    ("POST", "/v1/studies/ligands/join"): {"agent"},
    ("POST", "/v1/studies/ligands/uploads"): {"agent"},
    ("GET", "/v1/studies/ligands/receipts"): {"agent"},
    ("POST", "/v1/studies/ligands/restored"): {"admin"},
    ("GET", "/v1/studies/ligands/status"): {"admin", "agent", "viewer"},
    ("GET", "/v1/studies/ligands/events?after=x"): {"admin", "agent", "viewer"},
    ("GET", "/v1/studies/ligands/sites/lab-a"): {"admin", "viewer"},
    ("GET", "/v1/studies/ligands/log"): {"admin", "viewer"},
    ("GET", "/v1/studies/ligands/export"): {"admin", "viewer"},
    ("GET", "/v1/studies/ligands/report"): {"admin", "viewer"},
}
CALLERS = ("admin", "agent", "viewer", "other-agent", "other-viewer")


def test_the_table_has_every_route(world: Any) -> None:
    listed = {(method, path.partition("?")[0]) for method, path in ROUTES}
    names = {"study": "ligands", "token_id": "0a1b2c3d4e5f", "agent": "lab-a"}
    described = {
        (method.upper(), path.format_map(names))
        for path, methods in world.app.openapi()["paths"].items()
        for method in methods
    }
    assert described == listed | {("GET", "/healthz"), ("GET", "/readyz")}


@pytest.fixture
def tokens(world: Any) -> dict[str, str]:
    world.create("other")
    return {
        "admin": world.admin_token,
        "agent": world.token(role="agent", agent="lab-a"),
        "viewer": world.token(role="viewer"),
        "other-agent": world.token("other", role="agent", agent="lab-a"),
        "other-viewer": world.token("other", role="viewer"),
    }


def test_every_route_lets_in_whom_it_should_and_nobody_else(world: Any, tokens: dict[str, str]) -> None:
    for (method, path), allowed in ROUTES.items():
        for caller in CALLERS:
            # An empty body, an unknown token id: whoever is let in may be refused for these, but not with 403.
            answer = world.http(tokens[caller]).request(method, path)
            assert (answer.status_code != 403) == (caller in allowed), (method, path, caller, answer.text)
            assert answer.status_code != 401
            assert answer.status_code < 500


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer " + "a" * 43},
        {"Authorization": "Basic " + "a" * 43},
        {"Authorization": "Bearer " + "ü" * 43},
        {"Authorization": "Bearer " + "a" * 100_000},
    ],
)
def test_no_route_answers_without_a_valid_token(world: Any, header: dict[str, str]) -> None:
    before = world.admin.call("GET", "/v1/studies/ligands/status")
    for method, path in ROUTES:
        encoded = [(key.encode(), value.encode()) for key, value in header.items()]
        answer = world.http().request(method, path, headers=encoded)
        assert answer.status_code == 401, (method, path)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert set(answer.json()) == {"error", "code"}
    assert world.http().get("/healthz").json()["status"] == "ok"
    after = world.admin.call("GET", "/v1/studies/ligands/status")
    assert before | {"time": ""} == after | {"time": ""}


def test_the_secret_itself_is_what_is_checked(world: Any) -> None:
    token = world.token(role="viewer")
    almost = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert world.http(token).get("/v1/studies").status_code == 200
    assert world.http(almost).get("/v1/studies").status_code == 401


def test_a_revoked_token_stops_at_once(world: Any) -> None:
    token = world.token(role="viewer")
    assert world.http(token).get("/v1/studies").status_code == 200
    (shown,) = world.admin.call("GET", "/v1/studies/ligands/tokens")["tokens"]
    assert token not in str(shown)
    world.admin.call("DELETE", f"/v1/studies/ligands/tokens/{shown['id']}")
    assert world.http(token).get("/v1/studies").json()["code"] == "bad-token"


def test_an_expired_token_stops(world: Any) -> None:
    token = world.token(role="viewer", expires_in=3600)
    world.ahead = timedelta(seconds=3590)
    assert world.http(token).get("/v1/studies").status_code == 200
    world.ahead = timedelta(seconds=3600)
    assert world.http(token).get("/v1/studies").json()["code"] == "bad-token"


def test_a_new_administrator_can_take_over(world: Any) -> None:
    made = world.admin.call("POST", "/v1/tokens")
    other = world.connect(made["token"])
    first = next(t for t in other.call("GET", "/v1/tokens")["tokens"] if t["id"] != made["id"])
    other.call("DELETE", f"/v1/tokens/{first['id']}")
    assert world.http(world.admin_token).get("/v1/studies").status_code == 401
    with pytest.raises(Refused) as refusal:
        other.call("DELETE", f"/v1/tokens/{made['id']}")
    assert refusal.value.code == "last-admin"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"role": "admin"},
        {"role": "agent"},
        {"role": "agent", "agent": ""},
        {"role": "agent", "agent": "a b"},
        {"role": "agent", "agent": "../x"},
        {"role": "agent", "agent": "a" * 65},
        {"role": "viewer", "agent": "lab-a"},
        {"role": "viewer", "expires_in": 0},
        {"role": "viewer", "expires_in": "1"},
        {"role": "viewer", "expires_in": 1e300},
        {"role": "viewer", "expires_in": True},
        {"role": "viewer", "other": 1},
    ],
)
def test_a_token_that_makes_no_sense_is_refused(world: Any, body: Any) -> None:
    answer = world.http(world.admin_token).post("/v1/studies/ligands/tokens", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "refused")
    assert world.admin.call("GET", "/v1/studies/ligands/tokens") == {"tokens": []}


def test_an_agent_speaks_for_itself_only(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    fingerprint = lab.call("POST", "/v1/studies/ligands/join", {})["reply"]["problem"]
    body = {"problem": fingerprint, "agent": "lab-b", "sequence": 1, "tally": {"A": [1, 0.5]}}
    with pytest.raises(Refused) as refusal:
        lab.call("POST", "/v1/studies/ligands/uploads", body)
    assert (refusal.value.status, refusal.value.code) == (403, "other-agent")
    assert world.admin.call("GET", "/v1/studies/ligands")["uploads"] == 0
