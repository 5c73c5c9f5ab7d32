"""The small problems on which the suites try methods and tests, and tallies that could be seen there."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence

from bestarm.core.bets import PAIR, add_pairs
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning, UserError
from bestarm.methods import Method
from bestarm.methods import method as build
from bestarm.problem import Problem

TABULAR = Problem.quick([0.9, 0.6, 0.5, 0.1], sigma=0.3, delta=0.1)
LINEAR = Problem(
    list("ABCDE"),
    features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6], [0.5, 0.5]],
    theta=[0.8, 0.2],
    sigma=0.2,
    delta=0.1,
)
WORLDS = {"tabular": TABULAR, "linear": LINEAR}
# Two arms between which a thousandth of sigma lies: an answer is as good as a coin.
CLOSE = Problem.quick([0.5, 0.4997], sigma=0.3, delta=0.01)
CLOSE_LINEAR = Problem(["A", "B"], features=[[1.0], [-1.0]], theta=[0.00015], sigma=0.3, delta=0.01)
AGENTS = 3


def methods_on_worlds(name: str) -> dict[str, Method]:
    """A method on every one of the problems that it takes."""
    found = {}
    for world, problem in WORLDS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProblemWarning)
                found[world] = build(name, problem, agents=AGENTS)
        except UserError:
            continue
    return found


def seen(method: Method, pulls: Sequence[int], chance: random.Random) -> Tally:
    """So many pulls of each arm, with Gaussian rewards, drawn one by one.

    With items the first ones of every arm are on the same, and the rival is the first other arm.
    """
    problem, rows, single = method.problem, {}, {}
    assert problem.means is not None
    assert problem.sigma is not None
    means = problem.means.tolist()
    for arm, count in enumerate(pulls):
        rewards = [chance.gauss(means[arm], problem.sigma) for _ in range(count)]
        row = [count, math.fsum(rewards)]
        if method.squares:
            row.append(math.fsum((reward - problem.centre) ** 2 for reward in rewards))
        if count:
            rows[arm], single[arm] = row, rewards
    tally = Tally.from_rows(rows, problem.K)
    return tally if not method.test.pairs else _with_pairs(tally, single)


def _with_pairs(tally: Tally, rewards: Mapping[int, Sequence[float]]) -> Tally:
    rivals = [next((other for other in tally.arms if other != arm), -1) for arm in tally.arms]
    sums = [0.0] * (PAIR * len(rivals))
    for place, (arm, rival) in enumerate(zip(tally.arms, rivals, strict=True)):
        if rival >= 0:
            both = min(len(rewards[arm]), len(rewards[rival]))
            add_pairs(rewards[arm][:both], rewards[rival][:both], 1.0, sums, place * PAIR)
    return tally.with_rivals(rivals, sums)


def batches(method: Method, number: int, seed: int, complete: bool = True) -> Iterator[Tally]:
    """Batches of some of the arms; if `complete`, the first one has all of them."""
    chance = random.Random(seed)
    for place in range(number):
        few = [chance.randint(0, 6) * chance.randint(0, 1) for _ in method.problem.arms]
        few[chance.randrange(len(few))] += 1
        pulls = [1 + count for count in few] if complete and place == 0 else few
        yield seen(method, pulls, chance)
