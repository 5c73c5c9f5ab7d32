"""A lab is killed at every statement of its journal and at both ends of every message, and goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from fake_server import FakeServer, open_lab
from fatal import Fuse, Killed, Statements, Wire
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm import Lab, Problem, Server
from bestarm.client.memory.journal import Journal

TRIALS = 12
PROBLEM = Problem(["A", "B", "C"], name="ligands", sigma=2.0**52, delta=0.05, epsilon=0.0)


@dataclass
class Site:
    """What a site's people remember: reward k is 2^k, so a sum says which rewards are in it, and how often."""

    path: Path
    server: FakeServer
    rewards: int = 0
    started: int = 0  # sum of the rewards whose `tell` was called
    returned: int = 0  # sum of the rewards whose `tell` returned
    handed_out: set[int] = field(default_factory=set)
    in_hand: int = 0  # batches at once, at most

    def live(self, random: Random, fuse: Fuse) -> None:
        """One process, from its start to the end of its work or to its death."""
        journal = Journal(self.path, patience=0.0)
        journal._database.execute("PRAGMA synchronous = OFF")  # a killed process needs no disk; power cuts do
        journal._database = Statements(journal._database, fuse)  # type: ignore[assignment]
        try:
            self.work(open_lab(self.path, Wire(self.server, fuse), journal=journal), random)
        finally:
            journal.close()

    def work(self, lab: Lab, random: Random) -> None:
        left_open = {trial.number for trial in lab.open}
        while lab.agent.next_number + lab.agent.to_hand_out <= TRIALS or lab.open:
            asked = lab.ask(random.randint(1, 3))
            self.in_hand = max(self.in_hand, len(lab.agent.batches))
            new = {trial.number for trial in asked} - left_open
            assert not new & self.handed_out  # no number is ever given to two trials
            self.handed_out |= new
            left_open -= {trial.number for trial in asked}
            for trial in lab.open if random.random() < 0.5 else asked:
                if random.random() < 0.1:
                    lab.give_back(trial)
                else:
                    self.tell(lab, trial.number)
            if random.random() < 0.1:
                lab.leave()
        lab.leave()

    def tell(self, lab: Lab, number: int) -> None:
        reward = 2**self.rewards
        self.rewards += 1
        assert self.rewards < 52
        self.started += reward
        assert lab.tell(number, float(reward))
        self.returned += reward

    def check(self) -> None:
        """Each returned reward is in the log, none twice, and none that was never told."""
        total = self.server.server.total
        counted = 0
        for pulls, amount in zip(total.pulls.tolist(), total.reward_sums.tolist(), strict=True):
            assert int(amount).bit_count() == pulls
            assert counted & int(amount) == 0
            counted |= int(amount)
        assert counted & self.returned == self.returned
        assert counted & ~self.started == 0
        assert [upload.sequence for upload in self.server.server.log] == list(
            range(1, len(self.server.server.log) + 1)
        )
        replayed = Server.replay(self.server.server.method, self.server.server.log)
        assert replayed.verdict == self.server.server.verdict


def run(path: Path, seed: int, kills: list[int]) -> int:
    """A site that is killed at each of these points of its lives; the number of points of its last life."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + "-wal").unlink(missing_ok=True)
    site = Site(path, FakeServer(PROBLEM))
    random = Random(seed)
    for kill in kills:
        try:
            site.live(random, Fuse(kill))
        except Killed:
            continue
        break
    fuse = Fuse(None)
    site.live(random, fuse)
    site.check()
    assert kills or site.in_hand > 1
    return fuse.points


@pytest.mark.slow
def test_a_kill_at_any_point_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    points = run(tmp_path / "lab.db", 0, [])
    assert points > 200
    for kill in range(points):
        run(tmp_path / "lab.db", 0, [kill])


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), kills=st.lists(st.integers(0, 300), min_size=2, max_size=3))
def test_several_kills(tmp_path_factory: pytest.TempPathFactory, seed: int, kills: list[int]) -> None:
    run(tmp_path_factory.getbasetemp() / "several.db", seed, kills)


def test_the_fuse_notices_a_reward_that_is_lost(tmp_path: Path) -> None:
    site = Site(tmp_path / "lab.db", FakeServer(PROBLEM))
    site.live(Random(0), Fuse(None))
    site.returned += 2**site.rewards
    with pytest.raises(AssertionError):
        site.check()
