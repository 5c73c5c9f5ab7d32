"""The OpenAPI description is true: whatever is sent, every answer is one that it describes."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from uploads import batch, small_problem

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
PROBLEM = small_problem()


@pytest.fixture
def full_world(make_world: Any) -> Any:
    """A study with some data in it, and no limit on calls."""
    world = make_world(rate=0)
    world.create()
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    lab.call("POST", "/v1/studies/ligands/join")
    for sequence in (1, 2):
        lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", sequence).to_json(PROBLEM.arms))
    return world


@pytest.mark.slow
def test_every_answer_is_described(full_world: Any) -> None:
    world = full_world
    schema = schemathesis.openapi.from_dict(world.app.openapi())
    tokens = [world.admin_token, world.token(role="agent", agent="lab-a"), world.token(role="viewer"), "nobody"]
    results = list(schema.get_all_operations())
    operations = [result.ok() for result in results if isinstance(result, Ok)]
    assert len(operations) == len(results) > 15
    for operation in operations:
        if operation.path.endswith("/events"):
            continue  # it never ends; tests/service/http/test_events.py reads it

        cases = [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]

        @given(case=st.one_of(cases), token=st.sampled_from(tokens), name=st.booleans())
        @settings(
            max_examples=15,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        def answers(case: Any, token: str, name: bool) -> None:
            if name and "study" in (case.path_parameters or {}):
                case.path_parameters["study"] = "ligands"
            request = case.as_transport_kwargs(base_url="http://bestarm.test")
            headers = dict(request["headers"]) | {"Authorization": f"Bearer {token}"}
            sent = {key: request[key] for key in ("json", "params") if request.get(key) is not None}
            content = request.get("data")
            client = world.http()
            answer = client.request(request["method"], request["url"], headers=headers, content=content, **sent)
            case.validate_response(answer, checks=CHECKS)

        answers()
    statuses = {status for _, status in world.storage.counters.requests}
    assert {200, 201, 401, 403, 404, 422} <= statuses


def test_the_examples_in_the_description_work_and_give_what_it_says(full_world: Any) -> None:
    world = full_world
    schema = schemathesis.openapi.from_dict(world.admin.call("GET", "/openapi.json"))

    def example(path: str, method: str = "POST") -> Any:
        raw = schema.raw_schema["paths"][path][method.lower()]
        return raw["requestBody"]["content"]["application/json"]["example"]

    def call(path: str, method: str, body: Any, token: str, **places: str) -> Any:
        answer = world.http(token).request(method, path.format(**places), json=body)
        assert answer.is_success, answer.text
        content = {} if body is None else {"body": body}
        case = schema[path][method].Case(path_parameters=places, **content)
        case.validate_response(answer, checks=CHECKS)
        return answer.json() if "json" in answer.headers["Content-Type"] else None

    admin, study = world.admin_token, {"study": "second"}
    new = example("/v1/studies")
    call("/v1/studies", "POST", new | {"problem": new["problem"] | {"name": "second"}}, admin)
    made = call("/v1/studies/{study}/tokens", "POST", example("/v1/studies/{study}/tokens"), admin, **study)
    call("/v1/studies/{study}/join", "POST", {}, made["token"], **study)
    upload = example("/v1/studies/{study}/uploads")
    told = call("/v1/studies/{study}/uploads", "POST", upload, made["token"], **study)
    assert told["reply"]["plan"]
    assert {arm for arm, _ in told["reply"]["plan"]} <= upload["tally"].keys()
    upload |= {"sequence": 2, "tally": {"A": [500, 450.0], "B": [500, 50.0]}}
    told = call("/v1/studies/{study}/uploads", "POST", upload, made["token"], **study)
    assert told["reply"]["kind"] == "stop"
    for path in ("/v1/studies", "/v1/token", "/v1/tokens", "/metrics"):
        call(path, "GET", None, admin)
    for path in ("", "/status", "/export", "/tokens"):
        call("/v1/studies/{study}" + path, "GET", None, admin, **study)
    call("/v1/studies/{study}/close", "POST", None, admin, **study)
    call("/v1/studies/{study}/reopen", "POST", None, admin, **study)
    call("/v1/studies/{study}/tokens/{token_id}", "DELETE", None, admin, **study, token_id=made["id"])
    other = call("/v1/tokens", "POST", {}, admin)
    call("/v1/tokens/{token_id}", "DELETE", None, admin, token_id=other["id"])


def test_only_the_health_check_is_open_in_the_description(world: Any) -> None:
    document = world.app.openapi()
    assert document["security"] == [{"token": []}]
    open_routes = [
        path for path, methods in document["paths"].items() for o in methods.values() if o.get("security") == []
    ]
    assert open_routes == ["/healthz", "/readyz"]
