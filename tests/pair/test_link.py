"""Real agents and a real server over a link that delays, repeats, drops and reorders.

What crosses the link is JSON text. A request may get lost, arrive late, twice or long after newer ones, and so
may its answer; an agent sends again until it is answered. An answer belongs to its request, as in HTTP: what
comes in answer to an upload that is settled already is thrown away by the transport.
"""

import json
from collections import Counter
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bestarm import Agent, Method, Problem, Server, Stop, Tally, Trial, Upload
from bestarm.methods import method as build
from bestarm.protocol.messages import reply_from_json

MEANS = {"A": 10, "B": 7, "C": 6}
PLAIN = Problem(list(MEANS), sigma=3.0, delta=0.05)
RANGED = Problem(list(MEANS), reward_range=(3.0, 12.0), delta=0.05, sites="alike")
FEATURES = [[0.9, 0.0], [0.0, 0.9], [0.1, 0.8]]
LINEAR = Problem(list(MEANS), sigma=0.5, delta=0.1, features=FEATURES)
NOISY = Problem(list(MEANS), sigma=5.0, delta=0.05, features=FEATURES)
METHODS: dict[str, Method] = {
    "famabpe": build("famabpe", PLAIN, agents=3, gamma=0.1),
    "sharp": build("sharp", RANGED, agents=3, stopping="pairs"),
    "bets": build("sharp", RANGED, agents=3),
    "falinpe": build("falinpe", LINEAR, agents=3, gamma1=0.3, gamma2=0.2),
    "span": build("sharp", NOISY, agents=3),
}


class Packet(NamedTuple):
    """A text on its way: an upload to the server, or the answer back to its agent."""

    back: bool
    agent: int
    sequence: int
    text: str


class Site:
    """An agent with its measurements: the k-th one of an arm has the same whole value, come what may."""

    def __init__(self, method: Method, place: int, seed: int) -> None:
        self.agent = Agent(method, f"lab-{place}")
        self.in_order = method.test.bets  # their sums depend on which trial had which reward
        self.place, self.seed = place, seed
        self.measured: Counter[str] = Counter()
        self.told = Tally.empty(len(MEANS))
        self.trials: list[Trial] = []

    def measure(self, arm: str) -> float:
        self.measured[arm] += 1
        source = Random(f"{self.seed} {self.place} {arm} {self.measured[arm]}")
        return float(MEANS[arm] + source.choice([-3, -1, 0, 1, 2]))

    def tell(self, trial: Trial) -> None:
        reward = self.measure(trial.arm)
        names = list(MEANS)
        pulls, sums = [0] * len(names), [0.0] * len(names)
        pulls[names.index(trial.arm)], sums[names.index(trial.arm)] = 1, reward
        self.told = self.told + Tally.of(pulls, sums)
        self.agent.tell(trial, reward)

    def work(self, chance: Random) -> None:
        """Ask for some, tell one of those under way or give it back."""
        if len(self.trials) < 4:
            self.trials += self.agent.ask(chance.randint(1, 4))
        if self.in_order and self.trials:
            self.tell(self.trials.pop(0))
        elif self.trials:
            trial = self.trials.pop(chance.randrange(len(self.trials)))
            if chance.random() < 0.1:
                self.agent.give_back(trial)
            else:
                self.tell(trial)

    def work_through(self) -> Upload:
        """The whole plan in its order."""
        while self.agent.upload is None:
            (trial,) = self.agent.ask()
            self.tell(trial)
        return self.agent.upload


class Link:
    """The texts under way between the sites and the server."""

    def __init__(self, method: Method, sites: list[Site], chance: Random, faults: float) -> None:
        self.method, self.sites, self.chance, self.faults = method, sites, chance, faults
        self.problem = method.problem
        self.server = Server(method)
        self.under_way: list[Packet] = []
        self.happened: Counter[str] = Counter()
        for site in sites:
            site.agent.receive(self.server.download())

    def send(self, site: Site) -> None:
        upload = site.agent.upload
        assert upload is not None
        text = json.dumps(upload.to_json(self.problem.arms))
        self.under_way.append(Packet(False, site.place, upload.sequence, text))

    def carry(self) -> None:
        """Take any one of the texts under way; lose it, or deliver it and perhaps keep a copy under way."""
        packet = self.under_way.pop(self.chance.randrange(len(self.under_way)))
        fate = self.chance.random()
        if fate < self.faults:
            self.happened["lost"] += 1
            return
        if fate < 2 * self.faults:
            self.happened["repeated"] += 1
            self.under_way.append(packet)
        if packet.back:
            self.to_agent(packet)
        else:
            self.to_server(packet)

    def to_server(self, packet: Packet) -> None:
        seen = any(packet.agent == int(u.agent[4:]) and packet.sequence == u.sequence for u in self.server.log)
        self.happened["seen before"] += seen
        before = len(self.server.log), self.server.total, self.server.verdict
        answer = self.server.receive(Upload.from_json(json.loads(packet.text), self.problem))
        if seen:
            assert (len(self.server.log), self.server.total, self.server.verdict) == before
        text = json.dumps(answer.to_json(self.problem.arms))
        self.under_way.append(Packet(True, packet.agent, packet.sequence, text))

    def to_agent(self, packet: Packet) -> None:
        agent = self.sites[packet.agent].agent
        if agent.upload is None or agent.upload.sequence != packet.sequence:
            self.happened["answered before"] += 1
            return
        agent.receive(reply_from_json(json.loads(packet.text), self.problem))

    def run(self, most_steps: int = 40_000) -> None:
        """Until everybody knows the answer and nobody waits."""
        for _ in range(most_steps):
            if all(site.agent.finished and site.agent.upload is None for site in self.sites):
                return
            if self.under_way and self.chance.random() < 0.5:
                self.carry()
                continue
            site = self.sites[self.chance.randrange(len(self.sites))]
            if site.agent.upload is None:
                site.work(self.chance)
            elif self.chance.random() < 0.3:
                self.send(site)
        raise AssertionError("the study did not come to its end")


def check_sums(link: Link) -> None:
    """The server has what was told, once each, but for what lies in batches that never were full."""
    expected = Tally.empty(len(MEANS))
    for site in link.sites:
        kept = site.agent.local
        pulls, sums = site.told.pulls - kept.pulls, site.told.reward_sums - kept.reward_sums
        expected = expected + Tally.of(pulls.tolist(), sums.tolist())
    assert link.server.total == expected
    assert link.server.stopped


def without_faults(method: Method, order: list[str], seed: int, sites: int) -> Server:
    """The same order of uploads, handed over directly."""
    server = Server(method)
    fresh = {f"lab-{place}": Site(method, place, seed) for place in range(sites)}
    for site in fresh.values():
        site.agent.receive(server.download())
    for name in order:
        site = fresh[name]
        site.agent.receive(server.receive(site.work_through()))
    return server


@pytest.mark.parametrize("name", METHODS)
@given(
    chance=st.integers(0, 2**32),
    seed=st.integers(0, 2**32),
    sites=st.integers(1, 4),
    faults=st.sampled_from([0.0, 0.1, 0.3]),
)
@settings(max_examples=25, deadline=None)
def test_nothing_is_lost_or_counted_twice(name: str, chance: int, seed: int, sites: int, faults: float) -> None:
    method = METHODS[name]
    link = Link(method, [Site(method, place, seed) for place in range(sites)], Random(chance), faults)
    link.run()
    for what, times in link.happened.items():
        event(f"{what}: {'never' if not times else 'sometimes' if times < 10 else 'often'}")
    check_sums(link)
    # All sites know the same answer, and it is the server's.
    assert {site.agent.verdict for site in link.sites} == {link.server.verdict}
    # Without faults, in the same order, the same log and the same verdict, bit for bit.
    direct = without_faults(method, [upload.agent for upload in link.server.log], seed, sites)
    assert direct.log == link.server.log
    assert direct.total == link.server.total
    assert direct.verdict == link.server.verdict
    # And so for a server that is built again from the log's text.
    lines = [json.dumps(upload.to_json(method.problem.arms)) for upload in link.server.log]
    replayed = Server.replay(method, [Upload.from_json(json.loads(line), method.problem) for line in lines])
    assert (replayed.total, replayed.verdict) == (direct.total, direct.verdict)


@pytest.mark.parametrize("name", METHODS)
def test_the_faults_happen(name: str) -> None:
    """One long study with many faults: all of them are met, and nothing gives."""
    method = METHODS[name]
    seen: Counter[str] = Counter()
    for seed in range(3):
        link = Link(method, [Site(method, place, seed) for place in range(4)], Random(seed), 0.3)
        link.run()
        check_sums(link)
        seen += link.happened
    assert min(seen[what] for what in ("lost", "repeated", "seen before", "answered before")) > 20


def test_an_agent_that_sends_after_the_stop_is_recorded_and_told() -> None:
    method = METHODS["famabpe"]
    server = Server(method)
    early, late = Site(method, 0, 1), Site(method, 1, 1)
    for site in (early, late):
        site.agent.receive(server.download())
    held_back = late.work_through()
    while not early.agent.finished:
        early.agent.receive(server.receive(early.work_through()))
    verdict, total = server.verdict, server.total
    answer = server.receive(held_back)
    assert isinstance(answer, Stop)
    late.agent.receive(answer)
    assert late.agent.verdict == server.verdict == verdict
    assert server.total == total + held_back.tally
    assert late.agent.ask(5) == []
