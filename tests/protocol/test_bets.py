"""Bets from a site's single rewards: the pairs, the wire, and what can't be true."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestarm
from bestarm import Agent, Problem, ProtocolError, Server, Tally, Upload
from bestarm.core.bets import BETS, WIDTH, add_bets, place_of
from bestarm.core.plan import Plan
from bestarm.protocol.entries import ArmWithdrawn, Join
from bestarm.protocol.in_hand import InHand
from bestarm.protocol.messages import Download, plan_from_json, plan_to_json, reply_from_json, tally_from_json

ARMS = ("A", "B", "C")
rewards = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def bounded(**changes: Any) -> bestarm.Method:
    problem = Problem(list(ARMS), **({"reward_range": [0.0, 1.0]} | changes))
    return bestarm.method("sharp", problem, agents=2)


@given(rewards, rewards)
def test_every_trial_is_in_one_pair(own: list[float], rival: list[float]) -> None:
    logs, pairs = [0.0] * WIDTH, min(len(own), len(rival))
    add_bets(own, rival, 1.0, logs, 0)
    means = [[np.mean(side[first::pairs]) for first in range(pairs)] for side in (own, rival)]
    for bet, log in zip(BETS, logs, strict=True):
        assert log == pytest.approx(sum(math.log(1 + bet * (b - a)) for a, b in zip(*means, strict=True)))


def test_a_mean_of_one_is_worth_one() -> None:
    """The average of a bet over many batches of equal arms, whatever their distribution."""
    random = np.random.default_rng(7)
    worths = np.zeros(WIDTH)
    for _ in range(4000):
        logs = [0.0] * WIDTH
        add_bets(random.beta(0.2, 0.6, 3).tolist(), random.beta(0.2, 0.6, 5).tolist(), 1.0, logs, 0)
        worths += np.exp(logs) / 4000
    assert np.abs(worths - 1).max() < 0.06


def test_a_site_bets_on_what_its_plan_names() -> None:
    method = bounded()
    server, agent = Server(method), Agent(method, "lab", chance=lambda number: number * 0.618 % 1)
    agent.receive(server.receive(Join("lab")))
    first = [agent.tell(trial, 0.5 + 0.1 * ARMS.index(trial.arm)) for trial in agent.ask(99)][-1]
    assert first is not None
    assert set(first.tally.rivals) == {-1}  # nobody knows yet who is good
    reply = server.receive(first)
    assert isinstance(reply, Download)
    assert reply.plan is not None
    assert dict(zip(reply.plan.arms, reply.plan.rivals, strict=True)) == {0: 2, 1: 2, 2: 1}
    agent.receive(reply_from_json(json.loads(json.dumps(reply.to_json(ARMS))), agent.terms))
    trials = agent.ask(999)
    values = {trial.number: (trial.number * 37 % 100) / 100 for trial in trials}
    upload = None
    for trial in reversed(trials):  # told in another order than they were handed out
        upload = agent.tell(trial, values[trial.number]) or upload
    assert upload is not None
    dealt = sorted(trials, key=lambda trial: place_of(trial.number))
    by_arm = [[values[trial.number] for trial in dealt if trial.arm == arm] for arm in ARMS]
    for arm, rival in ((0, 2), (1, 2), (2, 1)):
        logs = [0.0] * WIDTH
        add_bets(by_arm[arm], by_arm[rival], 1.0, logs, 0)
        assert upload.tally.against[arm * WIDTH : (arm + 1) * WIDTH].tolist() == logs
    again = tally_from_json(json.loads(json.dumps(upload.tally.to_json(ARMS))), "x", ARMS)
    assert again == upload.tally
    server.receive(upload)


@pytest.mark.parametrize(("own", "rival"), [(20, 20), (60, 60), (10, 25)])
@pytest.mark.parametrize("shape", ["slope", "step", "rows"])
def test_what_changes_in_the_course_of_a_shuffled_batch_wins_no_bet(own: int, rival: int, shape: str) -> None:
    """Equal arms whose rewards depend on the place in the batch alone: a bet is worth 1 on average, or less.

    Pairs in the order of the trials would be worth 3 on a slope with 20 and 20 trials, and 30 with 60 and 60.
    """
    random, size, runs = np.random.default_rng(3), own + rival, 4000
    places = np.arange(size)
    shapes = {"slope": places / size, "step": 0.5 * (2 * places > size), "rows": 0.4 * (places % 12 == 0)}
    plan, terms, worths = Plan((0, 1), (own, rival), (1, -1)), Agent(bounded()).terms, np.zeros((runs, WIDTH))
    for run in range(runs):
        batch, arms = InHand(1, plan), random.permutation([0] * own + [1] * rival).tolist()
        for number, (arm, reward) in enumerate(zip(arms, shapes[shape].tolist(), strict=True), size * run + 1):
            batch.add(number, arm, reward, terms)
        worths[run] = np.exp(batch.tally(terms).against[:WIDTH])
    assert (worths.mean(axis=0) < 1.0 + 4.0 * worths.std(axis=0) / math.sqrt(runs)).all()
    assert worths.mean(axis=0).max() < 1.05


def test_the_lowest_may_be_the_best() -> None:
    assert bounded().bets == 1.0
    assert bounded(goal="lowest", reward_range=[-1.0, 3.0]).bets == -0.25
    assert bestarm.method("sharp", Problem(list(ARMS), sigma=0.3), agents=2).bets == 0.0


def test_plans_with_rivals_on_the_wire() -> None:
    plan = Plan((2, 0), (3, 2), (0, -1))
    assert plan_to_json(plan, ARMS) == [["C", 3, "A"], ["A", 2, None]]
    assert plan_from_json([["C", 3, "A"], ["A", 2, None]], ARMS) == plan
    for wrong in ([["C", 3, "X"]], [["C", 3, 1]], [["C", 3, "A"], ["A", 2]], [["C", 3, "A", 1]]):
        with pytest.raises(ProtocolError, match="plan: it has"):
            plan_from_json(wrong, ARMS)


def row(rival: str = "B", bets: Sequence[float] = (0.0,) * WIDTH) -> list[Any]:
    return [2, 1.0, rival, *bets]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            {"A": row(bets=[9.0] * WIDTH), "B": row(rival="A")},
            "has 9.0 for a bet of 0.02; that can't come from",
        ),
        ({"A": row(bets=[math.nan] * WIDTH), "B": row(rival="A")}, "it must be a finite number"),
        ({"A": row(rival="A")}, "has the rival 'A'; it must be another arm"),
        ({"A": row(rival="X")}, "has the rival 'X'; it must be another arm"),
        ({"A": row(), "B": [2, 1.0]}, "all arms must have a rival, or none"),
        ({"A": row(rival="C", bets=[0.01] * WIDTH)}, "that can't come from its pairs"),  # C is not in the batch
        ({"A": row()[:-1]}, r"it must be \[pulls, reward_sum\]"),
    ],
)
def test_bets_that_can_not_be(rows: dict[str, Any], sentence: str) -> None:
    server = Server(bounded())

    def send() -> None:
        server.receive(Upload(server.terms.fingerprint, "lab", 1, tally_from_json(rows, "x", ARMS)))

    with pytest.raises(ProtocolError, match=sentence):
        send()
    assert server.samples == 0


def test_nobody_asked_for_bets() -> None:
    server = Server(bestarm.method("sharp", Problem(list(ARMS), sigma=0.3), agents=2))
    tally = tally_from_json({"A": row(), "B": row(rival="A")}, "x", ARMS)
    with pytest.raises(ProtocolError, match="does not ask for sums against a rival"):
        server.receive(Upload(server.terms.fingerprint, "lab", 1, tally))


def test_counts_will_do() -> None:
    """Who has only counts sends no bets, and two-by-two tables take their place."""
    server = Server(bounded())
    for sequence in range(1, 9):
        tally = Tally.of([200, 200, 200], [120.0, 80.0, 60.0])
        server.receive(Upload(server.terms.fingerprint, "lab", sequence, tally))
    assert server.stopped
    assert server.verdict.leader == "A"


def test_a_withdrawn_rival_takes_its_bets_along() -> None:
    """After the best arm is gone, nothing of what it has won against the others may count."""
    method = bounded()
    server = Server(method)
    start = Tally.of([4, 4, 4], [3.6, 2.0, 2.0])
    server.receive(Upload(server.terms.fingerprint, "lab", 1, start))
    for sequence in range(2, 5):
        bets = [[math.log1p(bet * margin) * 4 for bet in BETS] for margin in (-0.4, 0.4, 0.4)]
        tally = start.with_rivals([1, 0, 0], [log for logs in bets for log in logs])
        server.receive(Upload(server.terms.fingerprint, "lab", sequence, tally))
    assert server.state.odds[1] > 1.0
    server.receive(ArmWithdrawn("w", "admin", "A"))
    assert server.state.odds.tolist() == [0.0, 0.0]
