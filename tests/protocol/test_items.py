"""Items: whole ones are handed out, a site adds up its pairs, and what can't be true is refused."""

import json
import random
from collections import defaultdict
from typing import Any

import pytest

import bestarm
from bestarm import Agent, Problem, ProtocolError, Server, Tally, Trial, Upload, UserError
from bestarm.core.bets import WIDTH
from bestarm.protocol.entries import ArmWithdrawn, Correction, Join
from bestarm.protocol.messages import Download, reply_from_json, tally_from_json
from bestarm.protocol.terms import Terms

ARMS = ("A", "B", "C")
MEANS = {"A": 0.6, "B": 0.5, "C": 0.3}
KINDS: dict[str, dict[str, Any]] = {
    "normal": {},
    "bounded": {"reward_range": [-2.0, 3.0]},
    "yes-no": {"rewards": "yes-no"},
    "lowest": {"goal": "lowest"},
}


def on_items(**changes: Any) -> bestarm.Method:
    return bestarm.method("sharp", Problem(list(ARMS), items=True, **changes), agents=2)


def begun(method: bestarm.Method, seed: int = 1) -> tuple[Server, Agent]:
    """A server and a site that has told the first item, so that plans name rivals."""
    chance = random.Random(seed)
    server, agent = Server(method), Agent(Terms.of(method), "lab", chance=lambda number: chance.random())
    agent.receive(server.receive(Join("lab")))
    first = [agent.tell(trial, 0.0 if trial.arm != "A" else 1.0) for trial in agent.ask(3)][-1]
    assert first is not None
    reply = server.receive(first)
    agent.receive(reply_from_json(json.loads(json.dumps(reply.to_json(ARMS))), agent.terms))
    return server, agent


def asked(agent: Agent) -> list[Trial]:
    return agent.ask(99)


def test_whole_items_are_handed_out() -> None:
    _, agent = begun(on_items(), seed=4)
    agent.start(agent.plan.__class__((0, 1, 2), (5, 5, 5), (1, 0, 0)))
    for wanted, items in ((1, 1), (2, 1), (7, 2), (8, 1)):  # of five; the last ask gets what is left
        trials = agent.ask(wanted)
        by_item = defaultdict(list)
        for trial in trials:
            by_item[trial.item].append(trial.arm)
        assert len(by_item) == items
        assert all(sorted(arms) == list(ARMS) for arms in by_item.values())
    assert agent.ask(99) == []
    assert set(agent.items.values()) == {2, 3, 4, 5, 6}  # the first was tried before


def test_an_item_that_does_not_fit_is_not_begun() -> None:
    _, agent = begun(on_items())
    agent.start(agent.plan.__class__((0, 1, 2), (4, 4, 4), (1, 0, 0)))
    for trial in agent.ask(5):  # one whole item, and no part of the next
        agent.tell(trial, 0.5)
    assert agent.next_item == 3
    upload = agent.close_batch()
    assert upload is not None
    agent.start(agent.plan.__class__((0, 1), (1, 1), (1, 0)))
    assert {trial.item for trial in agent.ask(2)} == {3}


def test_the_arms_of_an_item_come_in_a_random_order() -> None:
    _, agent = begun(on_items())
    agent.start(agent.plan.__class__((0, 1, 2), (40, 40, 40), (1, 0, 0)))
    orders = {tuple(trial.arm for trial in agent.ask(3)) for _ in range(40)}
    assert len(orders) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_site_adds_up_its_pairs(kind: str) -> None:
    method = on_items(**KINDS[kind])
    _, agent = begun(method)
    rewards: dict[str, dict[Any, float]] = defaultdict(dict)
    trials, upload = asked(agent), None
    rivals = {ARMS[arm]: ARMS[rival] for arm, rival in zip(agent.plan.arms, agent.plan.rivals, strict=True)}
    for place, trial in enumerate(random.Random(3).sample(trials, len(trials))):
        assert trial.item is not None
        rewards[trial.arm][trial.item] = float(place % 3 == 0)
        upload = agent.tell(trial, rewards[trial.arm][trial.item])
    assert upload is not None
    sign = -1 if kind == "lowest" else 1
    for arm, (pulls, total, rival, *sums) in upload.to_json(ARMS)["tally"].items():
        assert (pulls, total, rival) == (len(rewards[arm]), sum(rewards[arm].values()), rivals[arm])
        margins = [sign * (rewards[rival][item] - rewards[arm][item]) for item in rewards[arm]]
        if method.test.pairs:
            assert sums == [len(margins), sum(margins), sum(d * d for d in margins)]
        else:
            assert len(sums) == WIDTH


def test_what_is_missing_leaves_out_its_pairs() -> None:
    """A batch that is sent half done has the pairs of the items that have both arms, and all pulls."""
    _, agent = begun(on_items())
    agent.start(agent.plan.__class__((0, 1, 2), (4, 4, 4), (1, 0, 0)))
    for trial in asked(agent):
        if (trial.item, trial.arm) not in ((3, "A"), (4, "B")):
            agent.tell(trial, 1.0)
    upload = agent.close_batch()
    assert upload is not None
    assert upload.to_json(ARMS)["tally"] == {
        "A": [3, 3.0, "B", 2.0, 0.0, 0.0],
        "B": [3, 3.0, "A", 2.0, 0.0, 0.0],
        "C": [4, 4.0, "A", 3.0, 0.0, 0.0],
    }


def test_a_trial_that_is_given_back_comes_again_on_its_item() -> None:
    _, agent = begun(on_items())
    agent.start(agent.plan.__class__((0, 1, 2), (4, 4, 4), (1, 0, 0)))
    first = agent.ask(3)
    agent.give_back(first[1])
    (again,) = agent.ask(1)
    assert (again.item, again.arm) == (first[1].item, first[1].arm)
    assert again.number == first[-1].number + 1
    assert {trial.item for trial in agent.ask(3)} == {3}


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_with_items_ends_and_replays(kind: str) -> None:
    method = on_items(**KINDS[kind])
    server, agent = begun(method)
    chance, effects = random.Random(5), random.Random(6)
    best = "C" if kind == "lowest" else "A"
    for _ in range(400):
        item, effect, upload = None, 0.0, None
        for trial in agent.ask(12):
            if trial.item != item:
                item, effect = trial.item, effects.gauss(0, 0.5)
            reward = MEANS[trial.arm] + effect + chance.gauss(0, 0.05)
            if kind == "yes-no":
                reward = float(chance.random() < MEANS[trial.arm] ** 3)
            upload = agent.tell(trial, min(max(reward, -2.0), 3.0)) or upload
        if upload is None:
            continue
        reply = server.receive(upload)
        if server.stopped:
            break
        agent.receive(reply)
    assert server.verdict.arm == best
    again = Server.replay(method, [logged.entry for logged in server.entries])
    assert again.verdict == server.verdict


def test_without_items_the_same_data_say_little() -> None:
    """What is common to an item is in the rewards and not in their differences."""
    samples = {}
    for items in (True, False):
        problem = Problem.quick([0.6, 0.5, 0.3])
        problem = Problem.from_dict(problem.to_dict() | {"items": items})
        result = bestarm.simulate(problem, agents=2, runs=20, noise=0.05, item_effects=0.5, engine="rounds")
        samples[items] = float(result.samples.mean())
        assert result.wrong == 0
    assert samples[True] < samples[False] / 5


def test_a_correction_and_a_withdrawn_arm_are_replays() -> None:
    server, agent = begun(on_items())
    upload = [agent.tell(trial, 0.5) for trial in asked(agent)][-1]
    assert upload is not None
    server.receive(upload)
    rows = upload.to_json(ARMS)["tally"]
    rows["C"] = [rows["C"][0], rows["C"][1] - 0.25, "A", rows["C"][3], 0.25, 0.0625]
    right = Tally.from_json(rows, ARMS)
    server.receive(Correction("c1", "admin", "lab", 2, right))
    fresh = Server(server.original)
    fresh.receive(Join("lab"))
    fresh.receive(server.log[0])
    fresh.receive(Upload(upload.problem, "lab", 2, right))
    assert fresh.verdict == server.verdict
    assert fresh.state.accounts.tolist() == server.state.accounts.tolist()
    server.receive(ArmWithdrawn("w1", "admin", "A"))
    assert server.state.accounts[0, 1].tolist() == [0.0, 0.0]  # every pair was with the arm that is gone


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([2, 1.0], "do not say which trials"),
        ([2, 1.0, 0.5], "does not ask for sums of squares"),
        ([2, 1.0, "B", *[0.0] * WIDTH], "asks for pairs"),
        ([2, 1.0, "B", 3.0, 0.0, 0.0], "3 pairs with its rival; it must be a whole number up to 2"),
        ([2, 1.0, "B", 1.5, 0.0, 0.0], "1.5 pairs"),
        ([2, 1.0, "B", -1.0, 0.0, 0.0], "-1 pairs"),
        ([2, 1.0, "B", 2.0, 1.0, 0.4], "can't come from its pairs"),
        ([2, 1.0, "B", 0.0, 1.0, 1.0], "can't come from its pairs"),
        ([2, 1.0, "B", 2.0, 0.0, float("inf")], "finite"),
        ([2, 1.0, "X", 2.0, 0.0, 0.0], "must be another arm"),
        ([2, 1.0, "A", 2.0, 0.0, 0.0], "must be another arm"),
        ([2, 1.0, None, 2.0, 0.0, 0.0], "up to 0"),
    ],
)
def test_what_can_not_be_true_is_refused(row: list[Any], words: str) -> None:
    method = on_items()
    other: list[Any] = [*row[:2], *(["A", *[0.0] * (len(row) - 3)] if len(row) > 3 else row[2:])]
    server = Server(method)
    with pytest.raises(ProtocolError, match=words):
        send(server, {"A": row, "B": other})
    assert server.entries == []


def send(server: Server, rows: dict[str, list[Any]]) -> None:
    tally = tally_from_json(rows, "p", ARMS)
    server.receive(Upload(server.terms.fingerprint, "lab", 1, tally))


def test_plates_have_whole_items() -> None:
    method = on_items()
    server = Server(method)
    reply = server.receive(Join("lab", plate=8, cannot=("B",)))
    assert isinstance(reply, Download)
    assert reply.plan is not None
    assert reply.plan.counts == (4, 4)
    with pytest.raises(UserError, match="only the best arm itself"):
        Problem(["A", "B"], items=True, epsilon=0.1)
    with pytest.raises(UserError, match="has items"):
        bestarm.method("famabpe", Problem(["A", "B"], items=True, sigma=0.3), agents=2)
    with pytest.raises(UserError, match="has no items"):
        bestarm.method("sharp", Problem(["A", "B"]), agents=2, stopping="items", selection="blocks")
