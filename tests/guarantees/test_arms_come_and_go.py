"""Rule-out is wrong with probability at most delta also where arms are added and withdrawn in the middle.

Whole studies through the server's log. Batches have offsets of their own, and all arms that there are. A wrong
answer is one that is not the best of the arms that there were when it was given.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import beta

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Upload
from bestarm.protocol.server import Server

RUNS, BATCHES, PULLS = 2_000, 24, 8
MEANS = {"A": 0.502, "B": 0.5, "C": 0.503, "D": 0.501}  # C is the best as long as it is there, then A
WITHDRAWN, ADDED = 6, 10  # after how many batches C goes and D comes


def uploads(server: Server, random: np.random.Generator) -> Iterator[int]:
    """One upload after the other, with the number of each, and what happens to the arms in between."""
    for number in range(1, BATCHES + 1):
        if number == WITHDRAWN:
            server.append(ArmWithdrawn("w", "coordinator", "C", "the supplier has no more of it"))
        if number == ADDED:
            server.append(ArmAdded("a", "coordinator", "D"))
        means = np.array([MEANS[arm] for arm in server.arms])
        here = np.array([arm in server.method.problem.arms for arm in server.arms])
        pulls = np.where(here, PULLS, 0)
        noise = 0.3 * np.sqrt(pulls) * random.standard_normal(pulls.size)
        sums = pulls * (means + random.normal(scale=0.9)) + noise
        tally = Tally.of(pulls.tolist(), np.where(here, sums, 0.0).tolist())
        server.append(Upload(server.terms.fingerprint, f"lab-{number % 3}", 1 + (number - 1) // 3, tally))
        yield number


def answers(delta: float) -> Iterator[bool]:
    """Whether the answer was right, of every study that gave one."""
    problem = bestarm.Problem(["A", "B", "C"], sigma=0.3, delta=delta)
    method = bestarm.method("sharp", problem, agents=3)
    for run in range(RUNS):
        server = Server(method)
        for number in uploads(server, np.random.default_rng([run, 11])):
            if server.stopped:
                yield server.verdict.leader == ("C" if number < WITHDRAWN else "A")
                break


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_the_error_rate_with_arms_that_come_and_go(delta: float) -> None:
    found = list(answers(delta))
    wrong = found.count(False)
    assert beta.ppf(0.999, wrong + 1, RUNS - wrong) < delta
    assert len(found) > 10
    assert wrong > 0  # close calls, on which errors do happen
