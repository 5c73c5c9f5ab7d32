"""What a coordinator asks before and beside a study: an estimate, whose token this is, one site closely."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

import bestarm
from bestarm.errors import UserError
from bestarm.service.view.said.expected import MOST_ARMS, expected

PROBLEM = {"name": "plates", "arm": [{"name": "A"}, {"name": "B"}]}


def ask(world: Any, token: str, **body: object) -> Any:
    return world.http(token).post("/v1/estimate", json=body)


def test_an_estimate_says_how_many_experiments_and_makes_nothing(world: Any) -> None:
    found = ask(world, world.admin_token, problem=PROBLEM, agents=2).json()
    means = [row["mean"] for row in found["rows"]]
    assert means == sorted(means)
    assert len(means) == 3
    assert not found["late"]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in found["rows"])
    first = found["rows"][0]["sentence"]
    assert first.startswith("If the best is better than the others by twice as much as single results scatter:")
    assert [one["study"] for one in world.admin.call("GET", "/v1/studies")["studies"]] == ["ligands"]


def test_what_creating_refuses_an_estimate_refuses_in_the_same_words(world: Any) -> None:
    wrong = {"name": "plates", "arm": [{"name": "A"}]}
    created = world.http(world.admin_token).post("/v1/studies", json={"problem": wrong})
    estimated = ask(world, world.admin_token, problem=wrong)
    assert (created.status_code, created.json()) == (estimated.status_code, estimated.json())
    assert created.status_code == 422


def test_only_an_administrator_asks(world: Any) -> None:
    assert ask(world, world.token(role="viewer"), problem=PROBLEM).status_code == 403


def test_an_estimate_ends_when_its_time_is_up() -> None:
    method = bestarm.method("sharp", bestarm.Problem(["A", "B", "C"]), 3)
    ticks = count()
    found = expected(method, seconds=25.0, clock=lambda: float(next(ticks)))  # a run takes a second
    assert found["late"]
    assert len(found["rows"]) == 1


def test_the_unit_of_the_gap_is_one_that_a_person_has() -> None:
    def said(**fields: Any) -> str:
        sentence: str = expected(bestarm.method("sharp", bestarm.Problem(["A", "B"], **fields), 3))["rows"][0][
            "sentence"
        ]
        return sentence.split(":")[0]

    assert said(rewards="yes-no") == "If the best succeeds 40 percentage points more often than the others"
    assert said(reward_range=[0, 100]) == "If the best is better than the others by 40"
    assert said(sigma=0.3) == "If the best is better than the others by 0.6"
    plain = said()
    assert plain.endswith("by twice as much as single results scatter")
    assert said(rewards="normal", reward_range=[0, 1]) == plain  # a range is no reason to refuse
    assert said(sigma=0.3, means=[0.5, 0.2]) == "With the means that are given"


def test_many_arms_are_for_the_command_line() -> None:
    many = bestarm.Problem([f"arm-{k}" for k in range(MOST_ARMS + 1)])
    with pytest.raises(UserError, match="`bestarm estimate` takes more"):
        expected(bestarm.method("sharp", many, 3))


@pytest.mark.parametrize("role", ["viewer", "agent"])
def test_a_token_says_what_it_is_for(world: Any, role: str) -> None:
    name = {"agent": "lab-a"} if role == "agent" else {}
    found = world.connect(world.token(role=role, **name)).call("GET", "/v1/token")
    assert (found["role"], found["study"], found["agent"]) == (role, "ligands", name.get("agent"))
    assert "token" not in found


def test_a_site_closely(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    joined = lab.call("POST", "/v1/studies/ligands/join")
    fingerprint = joined["terms"]["fingerprint"]
    found = world.admin.call("GET", "/v1/studies/ligands/sites/lab-a")
    assert found["plan"] == joined["reply"]["plan"]
    assert found["asked"] == f"{sum(times for _, times in found['plan'])} trials"
    assert found["batches"] == []
    first, second = joined["terms"]["arms"][:2]
    rows = {first: [2, 1.5, 1.25], second: [1, 0.5, 0.25]} if joined["terms"]["squares"] else None
    tally = rows or {first: [2, 1.5], second: [1, 0.5]}
    body = {"problem": fingerprint, "agent": "lab-a", "sequence": 1, "tally": tally}
    lab.call("POST", "/v1/studies/ligands/uploads", body)
    (batch,) = world.admin.call("GET", "/v1/studies/ligands/sites/lab-a")["batches"]
    assert (batch["samples"], batch["corrected"]) == (3, False)
    right = {arm: list(row) for arm, row in batch["counts"].items()}
    right[first][1] = 1.0
    body = {"agent": "lab-a", "sequence": 1, "counts": right, "reason": "a typo"}
    world.admin.call("POST", "/v1/studies/ligands/corrections", body)
    (batch,) = world.admin.call("GET", "/v1/studies/ligands/sites/lab-a")["batches"]
    assert batch["corrected"]
    assert batch["counts"][first][1] == 1.0
    client = world.http(world.admin_token)
    nobody = client.get("/v1/studies/ligands/sites/lab-z")
    both = client.post("/v1/studies/ligands/corrections", json={"agent": "lab-a", "sequence": 1})
    assert (nobody.status_code, nobody.json()["code"]) == (404, "unknown-site")
    assert both.json()["error"] == "tally: say what the batch should have said, as tally or as counts."


def test_counts_are_plain_sums_whatever_the_centre(make_world: Any) -> None:
    world = make_world()
    problem = {"name": "plates", "centre": 50.0, "arm": [{"name": "A"}, {"name": "B"}]}
    world.admin.call("POST", "/v1/studies", {"problem": problem})
    lab = world.connect(world.token("plates", role="agent", agent="lab-a"))
    joined = lab.call("POST", "/v1/studies/plates/join")
    assert joined["terms"]["squares"]
    tally = {"A": [2, 104.0, 10.0], "B": [2, 100.0, 2.0]}  # 51 and 53, 49 and 51, around 50
    body = {"problem": joined["terms"]["fingerprint"], "agent": "lab-a", "sequence": 1, "tally": tally}
    lab.call("POST", "/v1/studies/plates/uploads", body)
    (batch,) = world.admin.call("GET", "/v1/studies/plates/sites/lab-a")["batches"]
    assert batch["counts"] == {"A": [2, 104.0, 5410.0], "B": [2, 100.0, 5002.0]}
    sent = {"agent": "lab-a", "sequence": 1, "counts": batch["counts"]}
    world.admin.call("POST", "/v1/studies/plates/corrections", sent)
    (again,) = world.admin.call("GET", "/v1/studies/plates/sites/lab-a")["batches"]
    assert again["counts"] == batch["counts"]


def test_a_link_as_a_qr_code(world: Any) -> None:
    answer = world.http(world.admin_token).post(
        "/v1/qr", json={"text": "https://bestarm.test/#/join/ligands/x"}
    )
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.text.startswith("<svg")
    assert world.http(world.admin_token).post("/v1/qr", json={"text": ""}).status_code == 422
