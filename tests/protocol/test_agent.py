"""The agent's table of states, and where its plans come from."""

from __future__ import annotations

import random
from functools import partial

import pytest

from bestarm import Agent, Download, Plan, Problem, ProtocolError, Server, Stop, Tally, Upload, Verdict, method
from bestarm.protocol.agent import TRANSITIONS, Event, State
from bestarm.protocol.entries import Join
from bestarm.protocol.terms import Terms

TERMS = Terms("ligands", ("A", "B", "C"), "18566d70caa08ade", sigma=0.3)
STOP = Stop(TERMS.fingerprint, Verdict(True, "A", "B", -0.1, 1.2, 40))
PLAN = Plan((0, 2), (1, 2))


def in_state(state: State, waiting: int) -> Agent:
    """An agent that came there by its verbs, with something told where it can be, and so many uploads made."""
    agent = Agent(TERMS, "lab")
    if state is not State.WAITING:
        agent.start(PLAN, times=3)
        for trial in agent.ask(9)[::3]:  # one of each batch
            agent.tell(trial, 0.5)
    if state in (State.FINISHED, State.SENDING_LATE):
        agent.receive(STOP)
    if state in (State.SENDING, State.SENDING_LATE):
        for _ in range(waiting):
            agent.close_batch()
    assert agent.state is state
    return agent


def happens(agent: Agent, event: Event) -> bool:
    """Whether the agent lets this happen."""
    try:
        if event in (Event.PLAN, Event.PLAN_BETWEEN):
            agent.start(PLAN)
        elif event in (Event.STOP, Event.STOP_BETWEEN):
            agent.receive(STOP)
        else:
            return agent.close_batch() is not None
    except ProtocolError:
        return False
    return True


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_what_is_in_the_table_happens_and_nothing_else(state: State, event: Event) -> None:
    between = event in (Event.PLAN_BETWEEN, Event.STOP_BETWEEN)
    if between and state not in (State.SENDING, State.SENDING_LATE):
        assert (state, event) not in TRANSITIONS  # no upload waits there
        return
    agent = in_state(state, 2 if between else 1)
    after = TRANSITIONS.get((state, event))
    assert happens(agent, event) == (after is not None)
    assert agent.state is (after or state)


def test_every_state_is_reached_and_can_be_left() -> None:
    assert {before for before, _ in TRANSITIONS} == set(State)
    assert set(TRANSITIONS.values()) == set(State) - {State.WAITING}


def chance(seed: int, number: int) -> float:
    """A number from 0 to 1 for each trial."""
    return random.Random(f"{seed}/{number}").random()


def test_trials_of_a_plan_come_as_chance_has_it_and_all_of_them_come() -> None:
    orders = set()
    for seed in range(20):
        agent = Agent(TERMS, "lab", partial(chance, seed))
        agent.start(Plan((0, 1, 2), (1, 2, 3)))
        order = [trial.arm for trial in agent.ask(9)]
        assert sorted(order) == ["A", "B", "B", "C", "C", "C"]
        orders.add(tuple(order))
    assert len(orders) > 10


def test_an_agent_goes_on_with_the_numbers_of_another() -> None:
    agent = Agent(TERMS, "lab")
    agent.resume(sequence=7, next_number=20)
    agent.start(Plan((1,), (1,)))
    (trial,) = agent.ask()
    upload = agent.tell(trial, 0.5)
    assert upload is not None
    assert (trial.number, upload.sequence) == (20, 8)
    with pytest.raises(ValueError, match="not left of the plan"):
        agent.begin(21, Plan((1,), (1,))).take(0)


@pytest.mark.parametrize("name", ["famabpe", "falinpe"])
def test_the_plan_that_is_sent_is_the_one_that_the_papers_agent_makes(name: str) -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
    problem = Problem(["A", "B", "C"], sigma=1.0, features=features)
    built = method(name, problem, agents=2)
    server, chance, sizes = Server(built), random.Random(0), set()
    reply = server.receive(Join("lab-1"))
    for turn in range(200):
        if isinstance(reply, Stop):
            break
        assert reply.total is not None
        assert reply.plan is not None
        own = Agent(built, "lab-2")
        own.receive(Download(reply.problem, reply.total))
        assert own.plan == reply.plan == built.plan(reply.total)
        sizes.add(reply.plan.size)
        rows = {
            arm: [count, sum(chance.gauss(1.0 - arm, 1.0) for _ in range(count))]
            for arm, count in zip(reply.plan.arms, reply.plan.counts, strict=True)
        }
        upload = Upload(
            problem.fingerprint, f"lab-{turn % 2 + 1}", turn // 2 + 1, Tally.from_rows(rows, problem.K)
        )
        reply = server.receive(upload)
        assert server.receive(upload) == reply
    assert len(sizes) > 3


def test_other_methods_send_the_plan_alone() -> None:
    server = Server(method("sharp", Problem(["A", "B"], sigma=0.3), agents=2))
    reply = server.receive(Join("lab-1"))
    assert isinstance(reply, Download)
    assert reply.total is None
    agent = Agent(server.terms, "lab-1")
    agent.receive(reply)
    assert agent.plan == reply.plan == Plan((0, 1), (1, 1))
    with pytest.raises(ProtocolError, match="it has no plan, and this agent can't make one"):
        Agent(server.terms).receive(Download(reply.problem, Tally.empty(2)))
