"""Replays logs with every test, and prints what came out to the last bit: a program for `test_same_bits.py`."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import bestarm
from bestarm.core.bets import BETS, PAIR
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.registry import TESTS
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import tally_from_json
from bestarm.protocol.server import Server

UPLOADS = 12


def problems() -> list[bestarm.Problem]:
    """With and without features, of every kind of reward, where sites are alike and where they differ."""
    random = np.random.default_rng(5)
    features = random.normal(size=(30, 9)).round(3).tolist()
    names = [f"arm-{k}" for k in range(30)]
    few = names[:6]
    return [
        bestarm.Problem(names, features=features, sigma=0.4, sites="alike"),
        bestarm.Problem(names, features=features, sites="differ"),
        bestarm.Problem(few, sigma=0.4, sites="alike"),
        bestarm.Problem(few, sites="differ"),
        bestarm.Problem(few, rewards="yes-no"),
        bestarm.Problem(few, reward_range=(0.0, 1.0)),
        bestarm.Problem(few, items=True),
    ]


def tally(method: bestarm.Method, random: np.random.Generator) -> Tally:
    """A batch, with whatever the test asks for."""
    names = method.problem.arms
    arms = len(names)
    if method.against:
        rivals = [names[1], *[names[0]] * (arms - 1)]
        rows = {
            name: [8, float(6 - k % 5), rival, *against(method.against, k)]
            for k, (name, rival) in enumerate(zip(names, rivals, strict=True))
        }
        return tally_from_json(rows, method.problem.name, names)
    pulls = random.integers(2, 9, size=arms)
    yes_no = method.problem.rewards == "yes-no"
    means = np.linspace(0.3, 0.7, arms)
    sums, squares = [], []
    for n, mean in zip(pulls.tolist(), means.tolist(), strict=True):
        rewards = (random.random(n) < mean).astype(float) if yes_no else mean + 0.2 * random.random(n)
        sums.append(sum(rewards.tolist()))
        squares.append(sum((r - method.problem.centre) ** 2 for r in rewards.tolist()))
    return Tally.of(pulls.tolist(), sums, squares if method.squares else None)


def against(width: int, arm: int) -> list[float]:
    """Sums against the rival: the logarithms of bets, or pairs, their sum and their squares."""
    if width == PAIR:
        return [8.0, 0.8 + 0.1 * arm, 1.5 + 0.01 * arm]
    return [0.1 * bet * (1 + arm) / 7.0 for bet in BETS]


def bits(value: Any) -> bytes:
    """All numbers of a state, as they are in memory."""
    if isinstance(value, tuple):
        return b"".join(map(bits, value))
    return np.asarray(value).tobytes()


def main() -> None:
    """One line for each test and problem that go together."""
    for problem in problems():
        for test in TESTS:
            try:
                method = bestarm.method("sharp", problem, 2, stopping=test)
            except UserError:
                continue
            server, random = Server(method), np.random.default_rng(7)
            found = hashlib.sha256()
            for sequence in range(1, UPLOADS + 1):
                upload = Upload(server.terms.fingerprint, "lab-a", sequence, tally(method, random))
                answer = server.receive(upload)
                found.update(bits(server.state) + repr(server.verdict).encode() + repr(answer).encode())
            print(test, problem.rewards, len(problem.arms), found.hexdigest())


if __name__ == "__main__":
    main()
