"""Rewards that are 0 or 1: what a site refuses, and what a server does."""

import pytest

from bestarm import Agent, Problem, Server, Tally, Upload, UserError
from bestarm.methods import method as build
from bestarm.protocol.entries import Join
from bestarm.protocol.messages import ProtocolError
from bestarm.protocol.terms import Terms

PROBLEM = Problem(["A", "B"], rewards="yes-no")
METHOD = build("sharp", PROBLEM)


def test_a_site_refuses_what_is_neither_yes_nor_no() -> None:
    agent = Agent(Terms.from_json(Terms.of(METHOD).to_json()), "lab")
    agent.receive(Server(METHOD).receive(Join("lab")))
    (trial,) = agent.ask()
    with pytest.raises(UserError, match=r"^reward is 0\.5; it must be 0 or 1, since rewards is 'yes-no'\.$"):
        agent.tell(trial, 0.5)
    agent.tell(trial, 1)


def test_a_server_refuses_sums_of_anything_else() -> None:
    server = Server(METHOD)
    with pytest.raises(
        ProtocolError, match=r"^tally: arm 'A' has reward sum 1\.5; rewards of 0 and 1 have a whole"
    ):
        server.receive(Upload(PROBLEM.fingerprint, "lab", 1, Tally.of([2, 2], [1.5, 0.0])))
    with pytest.raises(ProtocolError, match=r"that can't come from rewards between 0\.0 and 1\.0"):
        server.receive(Upload(PROBLEM.fingerprint, "lab", 1, Tally.of([2, 2], [3.0, 0.0])))
    server.receive(Upload(PROBLEM.fingerprint, "lab", 1, Tally.of([2, 2], [2.0, 0.0])))
    assert server.samples == 4
