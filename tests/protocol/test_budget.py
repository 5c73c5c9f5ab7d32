"""A study that ends before the best arm is known: at its budget, or at its deadline."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bestarm import Download, Problem, Server, Stop, Tally, Upload
from bestarm.core.plan import Plan
from bestarm.methods import method as build
from bestarm.protocol.entries import Join
from bestarm.verdict import Reason

ARMS = ["A", "B", "C"]
NOW = datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC)


def server_of(**others: Any) -> Server:
    return Server(build("sharp", Problem(ARMS, sigma=0.3, **others), agents=3))


def done(server: Server, agent: str, plan: Plan) -> Upload:
    rows = {arm: (count, 0.5 * count) for arm, count in zip(plan.arms, plan.counts, strict=True)}
    sequence = server.sequences.get(agent, 0) + 1
    return Upload(server.terms.fingerprint, agent, sequence, Tally.from_rows(rows, len(ARMS)))


def plan_of(answer: Download | Stop) -> Plan:
    assert isinstance(answer, Download)
    assert answer.plan is not None
    return answer.plan


@pytest.mark.parametrize("budget", [1, 7, 50, 200, 211])
@pytest.mark.parametrize("plate", [None, 24])
def test_plans_never_exceed_the_budget(budget: int, plate: int | None) -> None:
    server = server_of(budget=budget)
    sites = ["lab-a", "lab-b", "lab-c"]
    plans = {agent: plan_of(server.receive(Join(agent, plate=plate))) for agent in sites}
    turns = 0
    while server.due(False) is None:
        agent = sites[turns % 3]
        turns += 1
        assert server.samples + sum(plan.size for plan in plans.values()) <= budget
        if not plans[agent].size:  # all that is left is under way elsewhere
            continue
        server.append(done(server, agent, plans[agent]))
        if server.due(False) is None:
            plans[agent] = plan_of(server.answer(len(server.entries) - 1))
    assert server.samples == budget
    close = server.due(False)
    assert close is not None
    last = len(server.entries) - 1
    server.receive(close)
    assert server.due(False) is None
    end = server.answer(last)  # the upload that used it up hears that
    assert isinstance(end, Stop)
    assert (end.verdict.reason, end.verdict.stopped, end.verdict.samples) == (Reason.BUDGET, False, budget)
    assert str(end.verdict).startswith("The budget is used up. ")


def test_what_is_left_is_shared() -> None:
    """Nobody takes more than a share, but a whole plate; who is silent has none."""
    server = server_of(budget=90)
    for agent in ("lab-a", "lab-b"):
        server.receive(Join(agent))
    wide = plan_of(server.receive(Join("lab-c", plate=24)))
    assert wide.size == 24
    server.receive(done(server, "lab-c", wide))
    server.receive(done(server, "lab-a", Plan((0, 1, 2), (16, 16, 16))))
    assert server.samples == 72
    server.asked |= {"lab-a": 0, "lab-b": 3, "lab-c": 0}
    assert server.answer_now("lab-a")[1].size <= 6
    assert server.answer_now("lab-c")[1].size == 15  # a plate does not fit any more
    assert server.answer_now("lab-c", silent=["lab-b"])[1].size == 18


def test_a_day_lasts_until_its_end() -> None:
    server = server_of(deadline="2027-01-31")
    problem = server.method.problem
    server.receive(Join("lab-a"))
    assert server.due(problem.is_past(NOW)) is None
    close = server.due(problem.is_past(NOW + timedelta(seconds=1)))
    assert close is not None
    assert (close.cause, close.reason) == (Reason.DEADLINE, "2027-01-31")
    end = server.receive(close)
    assert isinstance(end, Stop)
    assert end.said == "Nothing was measured yet."
    assert server.receive(Join("lab-b")) == end


def test_a_deadline_may_be_a_moment() -> None:
    problem = Problem(ARMS, deadline="2027-01-31T12:00+02:00")
    assert not problem.is_past(datetime(2027, 1, 31, 9, 59, tzinfo=UTC))
    assert problem.is_past(datetime(2027, 1, 31, 10, 0, tzinfo=UTC))
    assert not Problem(ARMS).is_past(NOW)


def test_what_can_be_said_at_the_end() -> None:
    """The arms that are ruled out, and how sure the leader is, with the promise that there is."""
    server = server_of(budget=60)
    for sequence in (1, 2):
        tally = Tally.of([10, 10, 10], [8.0, 6.5, 1.0])
        server.append(Upload(server.terms.fingerprint, "lab-a", sequence, tally))
    close = server.due(False)
    assert close is not None
    end = server.receive(close)
    assert isinstance(end, Stop)
    assert end.said.startswith("A is the best, except with probability at most 0.")
    assert end.said.endswith("Ruled out: C.")
