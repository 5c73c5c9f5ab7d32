"""Rule-out is wrong with probability at most delta also where arms come and go, and batches are corrected.

Whole studies through the server's log. Batches have offsets of their own, and all arms that there are. A wrong
answer is one that is not the best of the arms that there were when it was given. Where batches are corrected, a
quarter of each arm's rewards was forgotten at first, in two of three batches, and comes two batches later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Upload
from bestarm.protocol.server import Server

BATCHES, PULLS = 24, 8
MEANS = {"A": 0.502, "B": 0.5, "C": 0.503, "D": 0.501}  # C is the best as long as it is there, then A
WITHDRAWN, ADDED = 6, 10  # after how many batches C goes and D comes


def drawn(pulls: Any, means: Any, random: np.random.Generator) -> Any:
    return pulls * means + 0.3 * np.sqrt(pulls) * random.standard_normal(pulls.size)


def uploads(server: Server, random: np.random.Generator, forgetful: bool) -> Iterator[int]:
    """One upload after the other, with the number of each, and what happens in between."""
    later: dict[int, Correction] = {}
    for number in range(1, BATCHES + 1):
        if number == WITHDRAWN:
            server.append(ArmWithdrawn("w", "coordinator", "C", "the supplier has no more of it"))
        if number == ADDED:
            server.append(ArmAdded("a", "coordinator", "D"))
        means = np.array([MEANS[arm] for arm in server.arms])
        here = np.array([arm in server.method.problem.arms for arm in server.arms])
        pulls = np.where(here, PULLS, 0)
        means = means + random.normal(scale=0.9)
        agent, sequence = f"lab-{number % 3}", 1 + (number - 1) // 3
        forgotten = pulls // 4 if forgetful and number % 3 else pulls * 0
        sums = drawn(pulls - forgotten, means, random)
        tally = Tally.of((pulls - forgotten).tolist(), sums.tolist())
        server.append(Upload(server.terms.fingerprint, agent, sequence, tally))
        if forgotten.any():
            right = Tally.of(pulls.tolist(), (sums + drawn(forgotten, means, random)).tolist())
            later[number + 2] = Correction(f"c{number}", agent, agent, sequence, right)
        yield number
        if number in later:
            server.append(later[number])
            yield number


def answers(delta: float, runs: int, forgetful: bool) -> Iterator[bool]:
    """Whether the answer was right, of every study that gave one."""
    problem = bestarm.Problem(["A", "B", "C"], sigma=0.3, delta=delta)
    method = bestarm.method("sharp", problem, agents=3)
    for run in range(runs):
        server = Server(method)
        for number in uploads(server, np.random.default_rng([run, 11]), forgetful):
            if server.stopped:
                yield server.verdict.leader == ("C" if number < WITHDRAWN else "A")
                break


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "runs", "forgetful"), [(0.05, 1000, False), (0.3, 300, False), (0.3, 250, True)]
)
def test_the_error_rate_with_arms_that_come_and_go(delta: float, runs: int, forgetful: bool) -> None:
    found = list(answers(delta, runs, forgetful))
    wrong = found.count(False)
    assert beta.ppf(0.999, wrong + 1, runs - wrong) < delta
    assert len(found) > 10
    assert wrong > 0  # close calls, on which errors do happen
