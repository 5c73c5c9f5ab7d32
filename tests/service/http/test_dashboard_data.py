"""What the dashboard needs beside the rest: outstanding plans, bytes, how studies went, and strict headers."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from uploads import small_problem

import bestarm
from bestarm.protocol.messages import reply_from_json
from bestarm.service.http.app import DASHBOARD

PROBLEM = small_problem()


def work(world: Any, agents: list[bestarm.Agent], uploads: int) -> dict[str, int]:
    """Let agents take turns; returns the bytes that each has sent."""
    tokens = {agent.name: world.token(role="agent", agent=agent.name) for agent in agents}
    labs = {name: world.connect(token) for name, token in tokens.items()}
    sent = dict.fromkeys(tokens, 0)
    chance = random.Random(1)
    for agent in agents:
        joined = labs[agent.name].call("POST", "/v1/studies/ligands/join")
        agent.receive(reply_from_json(joined["reply"], PROBLEM))
    for turn in range(uploads):
        agent = agents[turn % len(agents)]
        upload = None
        for trial in agent.ask(10**6):
            assert PROBLEM.means is not None
            assert PROBLEM.sigma is not None
            mean = PROBLEM.means[PROBLEM.arms.index(trial.arm)]
            upload = agent.tell(trial, chance.gauss(mean, PROBLEM.sigma))
        assert upload is not None
        body = upload.to_json(PROBLEM.arms)
        sent[agent.name] += len(json.dumps(body, separators=(",", ":")))
        answer = labs[agent.name].call("POST", "/v1/studies/ligands/uploads", body)
        agent.receive(reply_from_json(answer["reply"], PROBLEM))
    return sent


@pytest.mark.parametrize(
    ("method", "parameters"), [("sharp", {}), ("sharp", {"min_batch": 7}), ("famabpe", {"gamma": 0.3})]
)
def test_the_outstanding_plan_is_the_one_that_the_site_has(
    make_world: Any, method: str, parameters: dict[str, Any]
) -> None:
    world = make_world()
    world.create("ligands", method=method, parameters=parameters)
    built = bestarm.method(method, PROBLEM, 4, **parameters)
    agents = [bestarm.Agent(built, name=name) for name in ("lab-a", "lab-b")]
    sent = work(world, agents, uploads=8)
    status = world.admin.call("GET", "/v1/studies/ligands/status")
    assert status["state"] == "open"
    for agent, site in zip(agents, status["sites"], strict=True):
        assert site["agent"] == agent.name
        assert site["plan"] == agent.plan.size > 0
        assert site["bytes"] == sent[agent.name]


def test_the_first_plan_is_the_one_that_answered_the_join(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    plan = lab.call("POST", "/v1/studies/ligands/join")["reply"]["plan"]
    (site,) = world.admin.call("GET", "/v1/studies/ligands/status")["sites"]
    assert (site["plan"], site["bytes"]) == (sum(count for _, count in plan), 0)


def test_the_list_says_how_studies_went(world: Any) -> None:
    (row,) = world.admin.call("GET", "/v1/studies")["studies"]
    assert (row["last_upload"], row["trend"]) == (None, [])
    built = bestarm.method("sharp", PROBLEM, 4)
    work(world, [bestarm.Agent(built, name="lab-a")], uploads=4)
    (row,) = world.admin.call("GET", "/v1/studies")["studies"]
    history = world.admin.call("GET", "/v1/studies/ligands/status")["history"]
    assert row["trend"] == [entry[3] for entry in history]
    assert row["last_upload"] == history[-1][4]


def test_every_file_of_the_dashboard_is_under_the_policy(world: Any) -> None:
    files = [path.relative_to(DASHBOARD).as_posix() for path in DASHBOARD.rglob("*") if path.is_file()]
    assert "index.html" in files
    with world.http() as client:
        for name in ["", *files]:
            answer = client.get(f"/{name}")
            assert answer.status_code == 200
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert client.get("/%2e%2e/app.py").status_code == 404
        again = client.get("/", headers={"If-None-Match": client.get("/").headers["ETag"]})
        assert again.status_code == 304
        assert again.headers["Content-Security-Policy"] == client.get("/").headers["Content-Security-Policy"]
