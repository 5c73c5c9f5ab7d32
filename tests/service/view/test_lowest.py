"""A study that looks for the lowest mean shows its numbers as they were measured."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bestarm import Agent, Problem
from bestarm import method as build
from bestarm.protocol.messages import reply_from_json
from bestarm.service.view.exports.verify import verify

MEANS = {"A": 0.75, "B": 0.25, "C": 0.5}
CENTRE = 10.0
SHARED: dict[str, Any] = {"sigma": 0.25, "centre": CENTRE, "sites": "alike"}  # arms have own intervals then
HIGHEST = Problem(list(MEANS), name="highest", **SHARED)
LOWEST = Problem(list(MEANS), name="lowest", goal="lowest", **SHARED)


def driven(world: Any, problem: Problem, sign: int) -> dict[str, Any]:
    """The k-th reward of an arm is the same number of 1024ths to the one or the other side of the centre."""
    world.create(problem=problem.to_dict(), agents=2)
    path = f"/v1/studies/{problem.name}"
    lab = world.connect(world.token(problem.name, role="agent", agent="lab"))
    agent, chance = Agent(build("sharp", problem, agents=2), "lab"), {arm: random.Random(arm) for arm in MEANS}
    agent.receive(reply_from_json(lab.call("POST", f"{path}/join")["reply"], problem))
    while not agent.finished:
        upload = None
        for trial in agent.ask(10**6):
            beside = round(1024 * chance[trial.arm].gauss(MEANS[trial.arm], 0.25)) / 1024
            upload = agent.tell(trial, CENTRE + sign * beside)
        assert upload is not None
        answer = lab.call("POST", f"{path}/uploads", upload.to_json(problem.arms))
        agent.receive(reply_from_json(answer["reply"], problem))
    status: dict[str, Any] = world.admin.call("GET", f"{path}/status")
    assert verify(world.admin.call("GET", f"{path}/export")).leader == status["verdict"]["arm"]
    return status


def test_a_study_and_its_mirror_image_end_alike(world: Any) -> None:
    plain, turned = driven(world, HIGHEST, 1), driven(world, LOWEST, -1)
    assert plain["verdict"] == turned["verdict"]
    assert plain["verdict"]["arm"] == "A"
    assert plain["history"][-1][1:4] == turned["history"][-1][1:4]
    for up, down in zip(plain["arms"], turned["arms"], strict=True):
        assert up["pulls"] == down["pulls"]
        assert down["mean"] == 2 * CENTRE - up["mean"]
        assert down["low"] == pytest.approx(2 * CENTRE - up["high"], rel=1e-12)
        assert down["high"] == pytest.approx(2 * CENTRE - up["low"], rel=1e-12)
    assert "the lowest mean" in turned["promise"]
    assert turned["problem"]["goal"] == "lowest"
