"""Uploads go past FastAPI's routing: they must be answered and counted as if they did not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from uploads import batch, small_problem

PROBLEM = small_problem()
PATH = "/v1/studies/ligands/uploads"
GOOD = batch(PROBLEM, "lab-a", 1).to_json(PROBLEM.arms)


DIGEST = re.compile(rb'"digest":"[0-9a-f]{64}"')  # of the entry, with the time at which it came


def with_(**fields: object) -> bytes:
    return json.dumps(GOOD | fields).encode()


REQUESTS: dict[str, dict[str, Any]] = {
    "a good one": {"content": with_()},
    "the same again": {"content": with_()},
    "another tally": {"content": with_(tally={"A": [1, 0.5]})},
    "a gap": {"content": with_(sequence=7)},
    "another agent": {"content": with_(agent="lab-b")},
    "impossible numbers": {"content": with_(sequence=2, tally={"A": [0, 0.5]})},
    "not JSON": {"content": b"{"},
    "nothing": {"content": b""},
    "another study": {"url": "/v1/studies/others/uploads", "content": with_()},
    "an odd name": {"url": "/v1/studies/%C3%A4%20b/uploads", "content": with_()},
    "too deep": {"url": f"{PATH}/1", "content": with_()},
    "a slash at the end": {"url": f"{PATH}/", "content": with_()},
    "a question": {"url": f"{PATH}?x=1", "content": with_(sequence=2)},
    "another method": {"method": "GET"},
    "yet another": {"method": "DELETE"},
    "another version": {"content": with_(), "headers": {"Bestarm-Protocol": "1"}},
    "no token": {"content": with_(), "headers": {"Authorization": ""}},
    "no such token": {"content": with_(), "headers": {"Authorization": "Bearer " + "x" * 43}},
}


def answers(world: Any) -> dict[str, Any]:
    """What each request is answered: status, headers and body."""
    found = {}
    http = world.http(world.token(role="agent", agent="lab-a"))
    for name, request in REQUESTS.items():
        answer = http.request(**({"method": "POST", "url": PATH} | request))
        found[name] = answer.status_code, sorted(answer.headers.items()), DIGEST.sub(b"", answer.content)
    return found


def counted(world: Any) -> list[str]:
    """The lines of /metrics about answers to uploads."""
    lines = world.http(world.admin_token).get("/metrics").text.splitlines()
    return sorted(line for line in lines if "/uploads" in line)


def test_the_short_way_and_the_long_way_answer_alike(make_world: Any) -> None:
    short, long = make_world(), make_world()
    long.app.shortcut = None
    for world in (short, long):
        world.create()
        world.create("others")
    assert short.app.shortcut is not None
    by_the_short, by_the_long = answers(short), answers(long)
    for name in REQUESTS:
        assert by_the_short[name] == by_the_long[name], name
    assert {status for status, _, _ in by_the_short.values()} >= {200, 400, 401, 403, 404, 405, 409, 422}
    assert counted(short) == counted(long)
    assert any(" 3" in line and '"200"' in line for line in counted(short)), counted(short)


def test_a_mistake_of_ours_is_one_sentence_and_a_line_in_the_log(
    world: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("never mind")

    token = world.token(role="agent", agent="lab-a")
    monkeypatch.setattr(world.storage, "take", broken)
    answer = world.http(token).post(PATH, content=with_())
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server made a mistake; its log says which.", "code": "failed"}
    assert "POST /v1/studies/ligands/uploads failed" in caplog.text
    assert "ZeroDivisionError: never mind" in caplog.text
