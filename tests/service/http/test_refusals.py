"""What can't be right is refused in one sentence, whatever it is, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uploads import ARMS, batch, small_problem

from bestarm.protocol.server import Server

PROBLEM = small_problem()
GOOD = batch(PROBLEM, "lab-a", 1).to_json(ARMS)


def refusal(answer: Any) -> tuple[int, str]:
    body = answer.json()
    assert set(body) == {"error", "code"}
    assert body["error"].endswith((".", "?"))
    assert "\n" not in body["error"]
    assert len(body["error"]) < 500
    return answer.status_code, body["code"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        json.dumps(GOOD).encode("utf-16"),
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b'{"a": ' + b"1" * 20 + b"}",
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_a_body_that_is_not_json_is_refused(world: Any, content: bytes) -> None:
    token = world.token(role="agent", agent="lab-a")
    answer = world.http(token).post("/v1/studies/ligands/uploads", content=content)
    assert refusal(answer) == (400, "not-json")
    answer = world.http(world.admin_token).post("/v1/studies", content=content)
    assert refusal(answer) == (400, "not-json")


@pytest.mark.parametrize(
    "change",
    [
        {"tally": {}},
        {"tally": None},
        {"tally": {"Z": [1, 0.5]}},
        {"tally": {"A": [0, 0.0]}},
        {"tally": {"A": [-1, 0.5]}},
        {"tally": {"A": [1.0, 0.5]}},
        {"tally": {"A": [True, 0.5]}},
        {"tally": {"A": [1, "0.5"]}},
        {"tally": {"A": [1, None]}},
        {"tally": {"A": [1, 1e400]}},
        {"tally": {"A": [1, 1e308]}},
        {"tally": {"A": [2**53, 1.0]}},
        {"tally": {"A": [1]}},
        {"tally": {"A": 1}},
        {"tally": [["A", 1, 0.5]]},
        {"sequence": 0},
        {"sequence": 1.0},
        {"sequence": "1"},
        {"sequence": None},
        {"problem": "another"},
        {"problem": None},
        {"agent": None},
        {"more": 1},
    ],
)
def test_an_upload_that_no_agent_can_have_sent_is_refused(world: Any, change: dict[str, Any]) -> None:
    client = world.http(world.token(role="agent", agent="lab-a"))
    content = json.dumps(GOOD | change).replace("Infinity", "1e400")
    assert refusal(client.post("/v1/studies/ligands/uploads", content=content)) == (422, "refused")
    assert client.get("/v1/studies/ligands").json()["uploads"] == 0
    assert client.post("/v1/studies/ligands/uploads", json=GOOD).json()["position"] == 1


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
Entry = st.tuples(st.integers(1, 2**53) | Json, st.floats() | Json).map(list)
Bodies = st.fixed_dictionaries(
    {
        "problem": st.just(PROBLEM.fingerprint) | Json,
        "agent": st.just("lab-a") | Json,
        "sequence": st.integers(0, 3) | Json,
        "tally": st.dictionaries(st.sampled_from(ARMS) | st.text(max_size=3), Entry, max_size=4) | Json,
    }
)


@given(bodies=st.lists(Bodies | Json, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body_is_taken_or_refused_and_the_log_still_replays(world: Any, bodies: Any) -> None:
    token = world.token(role="agent", agent="lab-a")
    client = world.http(token)
    before = client.get("/v1/studies/ligands").json()["uploads"]
    taken = set()
    for body in bodies:
        answer = client.post("/v1/studies/ligands/uploads", content=json.dumps(body))
        if answer.status_code == 200:
            taken.add(answer.json()["position"])
        else:
            assert refusal(answer)[0] in (400, 403, 409, 422)
    study = client.get("/v1/studies/ligands").json()
    assert study["uploads"] == max([before, *taken])
    snapshot = world.storage.look(world.storage.find("ligands")).result()
    assert Server.replay(snapshot.study.method, world.storage.uploads(snapshot)).total == snapshot.total
    assert client.get("/v1/studies/ligands/status").status_code == 200


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"problem": None}, "problem is None"),
        ({"problem": {}}, "arm"),
        ({"problem": PROBLEM.to_dict() | {"arms": "/etc/passwd"}}, "arms"),
        ({"problem": PROBLEM.to_dict() | {"name": "a/b"}}, "name"),
        ({"problem": PROBLEM.to_dict() | {"name": ""}}, "name"),
        ({"problem": PROBLEM.to_dict() | {"sigma": -1}}, "sigma"),
        ({"problem": PROBLEM.to_dict() | {"delta": 2}}, "delta"),
        ({"agents": 0}, "agents"),
        ({"agents": "4"}, "agents"),
        ({"agents": True}, "agents"),
        ({"agents": 10**9}, "agents"),
        ({"method": "ugapec"}, "simulated, not served"),
        ({"method": "sync-ugapec"}, "simulated, not served"),
        ({"method": "falinpe"}, "features"),
        ({"method": "shrap"}, "Did you mean sharp"),
        ({"method": 1}, "method"),
        ({"parameters": []}, "parameters"),
        ({"parameters": {"gama": 1}}, "Did you mean gamma"),
        ({"parameters": {"thrift": ["x"]}}, "thrift"),
        ({"parameters": {"thrift": "greed"}}, "thrift"),
        ({"parameters": {"agents": 3}}, "agents"),
        ({"parameters": {"pseudo_count": 1e400}}, "pseudo_count"),
        ({"parameters": {"min_batch": 0}}, "min_batch"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_study_that_can_not_be_served_is_refused(make_world: Any, change: dict[str, Any], word: str) -> None:
    world = make_world()
    body = {"problem": PROBLEM.to_dict(), "agents": 4} | change
    content = json.dumps(body).replace("Infinity", "1e400")
    answer = world.http(world.admin_token).post("/v1/studies", content=content)
    assert refusal(answer) == (422, "refused")
    assert word in answer.json()["error"]
    assert world.admin.call("GET", "/v1/studies")["studies"] == []


def test_a_falinpe_table_that_would_fill_the_memory_is_refused(make_world: Any) -> None:
    world = make_world()
    arms = [{"name": f"a{k}", "features": [(k % 7) / 7, 0.5, k / 3000]} for k in range(3000)]
    problem = {"name": "big", "sigma": 0.3, "arm": arms}
    answer = world.http(world.admin_token).post(
        "/v1/studies", json={"problem": problem, "agents": 2, "method": "falinpe"}
    )
    assert refusal(answer) == (422, "refused")
    assert "greedy" in answer.json()["error"]


def test_unknown_things_are_not_found(world: Any) -> None:
    client = world.http(world.admin_token)
    for method, path, code in [
        ("GET", "/v1/studies/nope", "unknown-study"),
        ("GET", "/v1/studies/nope/status", "unknown-study"),
        ("GET", "/v1/studies/nope/export", "unknown-study"),
        ("GET", "/v1/studies/nope/events", "unknown-study"),
        ("POST", "/v1/studies/nope/close", "unknown-study"),
        ("GET", "/v1/studies/..%2Fx", "unknown-address"),
        ("DELETE", "/v1/studies/ligands/tokens/nope", "unknown-token"),
        ("GET", "/v2/studies", "unknown-address"),
        ("GET", "/docs", "unknown-address"),
    ]:
        assert refusal(client.request(method, path)) == (404, code), path
    assert refusal(client.put("/v1/studies")) == (405, "method")
    assert refusal(client.get("/v1/studies/ligands/export?format=xml")) == (422, "refused")
    assert refusal(client.get("/v1/studies/ligands/events?after=-1")) == (422, "refused")
    assert refusal(client.get("/v1/studies/ligands/events", headers={"Last-Event-ID": "x"})) == (422, "refused")


def test_a_body_that_is_too_large_is_refused(make_world: Any) -> None:
    world = make_world(body=2000)
    world.create()
    client = world.http(world.token(role="agent", agent="lab-a"))

    def pieces() -> Any:
        for _ in range(30):
            yield b" " * 100

    assert refusal(client.post("/v1/studies/ligands/uploads", content=b" " * 2001)) == (413, "too-large")
    assert refusal(client.post("/v1/studies/ligands/uploads", content=pieces())) == (413, "too-large")
    assert client.post("/v1/studies/ligands/uploads", json=GOOD).status_code == 200


def test_too_many_arms_are_refused(make_world: Any) -> None:
    world = make_world(arms=3)
    world.create()
    client = world.http(world.token(role="agent", agent="lab-a"))
    many = GOOD | {"tally": {f"arm-{k}": [1, 0.5] for k in range(4)}}
    assert refusal(client.post("/v1/studies/ligands/uploads", json=many)) == (413, "too-large")
    wide = {"name": "wide", "sigma": 0.3, "arm": [{"name": f"arm-{k}"} for k in range(4)]}
    answer = world.http(world.admin_token).post("/v1/studies", json={"problem": wide, "agents": 1})
    assert refusal(answer) == (422, "refused")


def test_a_study_whose_plan_would_not_fit_into_a_body_is_refused(make_world: Any) -> None:
    world = make_world(body=2000)
    admin = world.http(world.admin_token)

    def create(length: int, path: str = "/v1/studies") -> httpx.Response:
        arms = [{"name": f"{k:0{length}}"} for k in range(40)]
        wide = {"name": f"wide-{length}", "sigma": 0.3, "arm": arms}
        answer: httpx.Response = admin.post(path, json={"problem": wide, "agents": 1})
        return answer

    assert create(20).status_code == 201  # 40 arms, each with a number of up to 7 digits
    answer = create(36)
    assert refusal(answer) == (422, "refused")
    assert "this server reads 2,000 at most; take shorter names" in answer.json()["error"]
    assert refusal(create(36, "/v1/estimate")) == (422, "refused")
    assert [study["study"] for study in admin.get("/v1/studies").json()["studies"]] == ["wide-20"]


def test_too_many_calls_are_slowed_down_for_that_token_only(make_world: Any) -> None:
    world = make_world(rate=0.5, burst=5)
    world.create()
    hasty = world.http(world.token(role="viewer"))
    calm = world.http(world.token(role="viewer"))
    answers = [hasty.get("/v1/studies") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert refusal(answers[-1]) == (429, "too-fast")
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 2
    assert calm.get("/v1/studies").status_code == 200


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (b'"parameters": {"gamma": 1e309}', "gamma"),
        (b'"parameters": {"pseudo_count": -1e309}', "pseudo_count"),
        (b'"method": "famabpe", "parameters": {"gamma": "abc"}', "gamma is 'abc'"),
        (b'"parameters": {"gamma": "abc"}', "gamma is 'abc'"),
    ],
)
def test_a_study_with_parameters_that_are_no_numbers_is_refused(
    world: Any, fields: bytes, sentence: str
) -> None:
    problem = json.dumps(small_problem("other").to_dict()).encode()
    content = b'{"problem": ' + problem + b', "agents": 2, ' + fields + b"}"
    answer = world.http(world.admin_token).post("/v1/studies", content=content)
    assert refusal(answer)[0] == 422
    assert sentence in answer.json()["error"]


def test_a_study_with_too_many_features_is_refused(world: Any) -> None:
    arms = [{"name": "A", "features": [0.001] * 2001}, {"name": "B", "features": [0.5] + [0.001] * 2000}]
    problem = {"name": "wide", "sigma": 0.3, "arm": arms}
    answer = world.http(world.admin_token).post("/v1/studies", json={"problem": problem, "agents": 2})
    assert refusal(answer)[0] == 422
    assert "2001 features" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/v1/studies/%00", "/v1/studies/a%00b/status", "/v1/studies/%0A"])
def test_names_that_no_study_has_are_unknown(world: Any, path: str) -> None:
    assert refusal(world.http(world.admin_token).get(path))[0] == 404
    assert refusal(world.http(world.admin_token).delete("/v1/tokens/%00"))[0] == 404


def test_more_samples_than_a_number_holds_are_refused(world: Any) -> None:
    lab = world.http(world.token(role="agent", agent="lab-a"))
    tally = {arm: [2**53 - 1, 0.0] for arm in ARMS}
    answer = lab.post("/v1/studies/ligands/uploads", json=GOOD | {"tally": tally})
    assert refusal(answer)[0] == 422
    assert world.admin.call("GET", "/v1/studies/ligands")["samples"] == 0


@pytest.mark.parametrize("journal", ["", "a b", "x" * 65, 5, []])
def test_a_join_with_a_journal_that_is_no_name_is_refused(world: Any, journal: object) -> None:
    lab = world.http(world.token(role="agent", agent="lab-a"))
    assert refusal(lab.post("/v1/studies/ligands/join", json={"journal": journal}))[0] == 422
    assert lab.post("/v1/studies/ligands/join", json={"journal": "first"}).status_code == 200
    assert lab.post("/v1/studies/ligands/join", json={}).status_code == 200
    assert refusal(lab.post("/v1/studies/ligands/join", json={"journal": "second"})) == (409, "other-journal")


@pytest.mark.parametrize("text", ["B\x00", "B\x1b[31m", "B\u202e", "B\u200b", "B\u00a0", "e\u0301"])
def test_text_that_does_not_look_like_what_it_is_is_refused(world: Any, text: str) -> None:
    client = world.http(world.admin_token)
    for change in ({"arm": [{"name": "A"}, {"name": text}]}, {"unit": text}):
        problem = small_problem("other").to_dict() | change
        answer = client.post("/v1/studies", json={"problem": problem, "agents": 2})
        assert refusal(answer) == (422, "refused")
    for path, body in (
        ("close", {"reason": text}),
        ("arms", {"arm": text}),
        ("arms/withdraw", {"arm": "B", "reason": text}),
        ("corrections", {"agent": "lab-a", "sequence": 1, "tally": {"A": [1, 0.5]}, "reason": text}),
    ):
        answer = client.post(f"/v1/studies/ligands/{path}", json=body)
        assert refusal(answer) == (422, "refused")
        sentence = answer.json()["error"]
        assert "can't be seen" in sentence or "looks like" in sentence
    assert client.get("/v1/studies/ligands").json()["uploads"] == 0


def test_one_study_that_is_damaged_hides_no_other(make_world: Any) -> None:
    world = make_world()
    for name in ("ligands", "other"):
        world.create(name)
    with world.storage.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE studies SET stopped_at = 1, verdict = '{}' WHERE name = 'ligands'")
    world.storage._ledgers.clear()
    admin = world.http(world.admin_token)
    assert refusal(admin.get("/v1/studies/ligands")) == (503, "damaged")
    assert [one["study"] for one in admin.get("/v1/studies").json()["studies"]] == ["other"]
    assert "bestarm_damaged 1\n" in admin.get("/metrics").text


def test_a_refusal_repeats_no_long_name(world: Any) -> None:
    lab, long = world.http(world.token(role="agent", agent="lab-a")), "x" * 100_000
    assert refusal(lab.post("/v1/studies/ligands/join", json={"cannot": [long]})) == (422, "refused")
    admin = world.http(world.admin_token)
    assert refusal(admin.post("/v1/studies/ligands/arms/withdraw", json={"arm": long})) == (422, "refused")
