"""The small problems on which the suites try methods and tests, and tallies that could be seen there."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence

from bestarm.core.bets import PAIR, add_pairs
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning, UserError
from bestarm.methods import METHODS, Method
from bestarm.methods import method as build
from bestarm.problem import Problem
from bestarm.reward import YES_NO

TABULAR = Problem.quick([0.9, 0.6, 0.5, 0.1], sigma=0.3, delta=0.1)
LINEAR = Problem(
    list("ABCDE"),
    features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6], [0.5, 0.5]],
    theta=[0.8, 0.2],
    sigma=0.2,
    delta=0.1,
)
YES_OR_NO = Problem(["A", "B", "C"], means=[0.8, 0.4, 0.2], rewards="yes-no", delta=0.1, sites="alike")
WORLDS = {"tabular": TABULAR, "linear": LINEAR}
# Two arms between which a thousandth of sigma lies: an answer is as good as a coin.
CLOSE = Problem.quick([0.5, 0.4997], sigma=0.3, delta=0.01)
CLOSE_YES_NO = Problem(["A", "B"], means=[0.5, 0.4997], rewards="yes-no", delta=0.01, sites="alike")
CLOSE_LINEAR = Problem(["A", "B"], features=[[1.0], [-1.0]], theta=[0.00015], sigma=0.3, delta=0.01)
AGENTS = 3


def methods_on_worlds(name: str) -> dict[str, Method]:
    """A method on every one of the problems that it takes.

    The methods of the field have no use for features, and the yes/no problem is for those that take no other.
    """
    found: dict[str, Method] = {}
    for world, problem in (*WORLDS.items(), ("yes/no", YES_OR_NO)):
        if found and (problem is YES_OR_NO or METHODS[name].field):
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProblemWarning)
                found[world] = build(name, problem, agents=AGENTS)
        except UserError:
            continue
    return found


def seen(method: Method, pulls: Sequence[int], chance: random.Random) -> Tally:
    """So many pulls of each arm, with Gaussian or yes/no rewards, drawn one by one.

    With items the first ones of every arm are on the same, and the rival is the first other arm.
    """
    problem, rows, single = method.problem, {}, {}
    assert problem.means is not None
    means = problem.means.tolist()
    for arm, count in enumerate(pulls):
        rewards = [reward_of(means[arm], problem, chance) for _ in range(count)]
        row = [count, math.fsum(rewards)]
        if method.squares:
            row.append(math.fsum((reward - problem.centre) ** 2 for reward in rewards))
        if count:
            rows[arm], single[arm] = row, rewards
    tally = Tally.from_rows(rows, problem.K)
    return tally if not method.test.pairs else _with_pairs(tally, single)


def reward_of(mean: float, problem: Problem, chance: random.Random) -> float:
    """One reward of an arm with this mean."""
    if problem.rewards == YES_NO:
        return float(chance.random() < mean)
    assert problem.sigma is not None
    return chance.gauss(mean, problem.sigma)


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
