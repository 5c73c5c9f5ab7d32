"""The events engine has exactly the distribution of the rounds engine.

For each case, 2,500 runs of the rounds engine (real Agents and Servers, pull by pull; 5,000 in `make soak`)
against twice as many of the events engine, compared in samples, communications, switches, unsent pulls and the
arm returned.

The test is a permutation test of the Anderson–Darling distance between two empirical distributions. If both
engines have one distribution, the pooled runs are exchangeable, so its level is exact whatever the distribution
is; the numbers compared are whole and have many ties, for which tables of the Kolmogorov–Smirnov or
Anderson–Darling distance do not hold. Permuting tied data is drawing the counts of one sample from the pooled
counts without replacement, a multivariate hypergeometric draw. All p values together are judged by Holm's
procedure, which keeps the probability of one false alarm among all of them at 1 %.

The instances are noisy (rewards vary more than the method is told) and the batches large, so that leaders
change, answers are wrong at times, and unsent pulls are common.
"""

import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.typing import NDArray

from bestarm import Offline, Problem, ProblemWarning, Schedule
from bestarm.methods import Parameter
from bestarm.methods import method as build
from bestarm.simulation import events
from bestarm.simulation.api import prepare, run_many
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.engine import Engine, loop_of
from bestarm.simulation.outcome import Outcome
from bestarm.simulation.workers import pack
from bestarm.simulation.worlds import environment
from bestarm.simulation.worlds.world import World

Sample = NDArray[np.int64]
ROUNDS = int(os.environ.get("BESTARM_EXACT", "2500"))
EVENTS, LEVEL = 2 * ROUNDS, 0.01
BLOCK, BLOCKS = 999, 20  # permutations: 19,980, so that the smallest p value is 5e-5, below 1 % / 55
FIELDS = ("samples", "communications", "switches", "unsent", "arm")

AGENTS = 3
SCHEDULES = {
    "uniform": Schedule.uniform(AGENTS),
    "unequal": Schedule((4.0, 1.0, 0.5)),
    # One comes back, one leaves for good, and the times fall into most of the runs.
    "offline": Schedule((1.0, 1.0, 1.0), (Offline(0, 1.0, 5.0), Offline(1, 3.0))),
}
FEATURES = np.array([[0.8, 0.0], [0.0, 0.8], [0.5, 0.5]])
LARGE: dict[str, Parameter] = {"gamma1": 1.0, "gamma2": 0.5, "lambda": 0.02}
METHODS: dict[str, tuple[str, float, bool, dict[str, Parameter]]] = {  # name, sigma told, linear, parameters
    "famabpe": ("famabpe", 0.09, False, {"gamma": 0.5}),
    "ratio": ("falinpe", 0.008, True, LARGE | {"selection": "ratio"}),
    "greedy": ("falinpe", 0.008, True, LARGE | {"selection": "greedy"}),
    "pairs": ("sharp", 0.15, False, {"stopping": "pairs", "thrift": "messages"}),
    "span": ("sharp", 0.1, True, {"stopping": "span", "thrift": "messages", "pseudo_count": 3.0}),
}


class Case(NamedTuple):
    """A method on a schedule with a kind of rewards."""

    method: str
    schedule: str
    rewards: str

    def __str__(self) -> str:
        return "-".join(self)


# Every schedule and every kind of rewards with each of the paper's selections, and sharp's two tests.
CASES = [
    Case("famabpe", "uniform", "gaussian"),
    Case("famabpe", "unequal", "bernoulli"),
    Case("famabpe", "offline", "gaussian"),
    Case("ratio", "uniform", "bernoulli"),
    Case("ratio", "unequal", "gaussian"),
    Case("ratio", "offline", "bernoulli"),
    Case("greedy", "uniform", "gaussian"),
    Case("greedy", "unequal", "bernoulli"),
    Case("greedy", "offline", "gaussian"),
    Case("pairs", "offline", "bernoulli"),
    Case("span", "unequal", "gaussian"),
]


def engine_of(case: Case, engine: str, seed: int) -> Engine:
    name, sigma, linear, parameters = METHODS[case.method]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Bernoulli rewards", ProblemWarning
        )  # more noise than the method is told
        if linear:
            problem = Problem(["A", "B", "C"], features=FEATURES, theta=[0.95, 0.4], sigma=sigma, delta=0.3)
        else:
            problem = Problem(["A", "B", "C"], means=[0.8, 0.4, 0.3], sigma=sigma, delta=0.3)
        method = build(name, problem, agents=AGENTS, **parameters)
        if case.method == "ratio":
            for i, j in ((0, 1), (0, 2), (1, 2)):
                method.solve_design(i, j)
        prepared = prepare(method, seed, engine, World(case.rewards), SCHEDULES[case.schedule])
    return replace(prepared, environment=prepared.environment._replace(spreads=np.full(3, 0.35)))


def columns(outcomes: Iterable[Outcome]) -> dict[str, Sample]:
    table = [tuple(getattr(outcome, field) for field in FIELDS) for outcome in outcomes]
    return dict(zip(FIELDS, np.array(table, dtype=np.int64).T, strict=True))


@cache
def by_rounds(case: Case) -> dict[str, Sample]:
    engine = engine_of(case, "rounds", 1)
    pieces = [range(first, first + 250) for first in range(0, ROUNDS, 250)]
    packed = pack(engine)
    parts = Parallel(n_jobs=2)(delayed(run_many)(packed, piece) for piece in pieces)
    return columns(outcome for part in parts for outcome in part)


@cache
def by_events(case: Case) -> dict[str, Sample]:
    engine = engine_of(case, "events", 2)
    return columns(engine.run(number) for number in range(EVENTS))


def distance(first: NDArray[Any], pooled: Sample) -> NDArray[np.float64]:
    """Anderson–Darling's distance of a sample from the pool, up to a constant; both as counts of each value."""
    size, total = first.sum(axis=-1)[..., None], pooled.sum()
    reached = np.cumsum(pooled)[:-1] / total
    away = np.cumsum(first, axis=-1)[..., :-1] / size - reached
    result: NDArray[np.float64] = (away**2 / (reached * (1 - reached)) * pooled[:-1]).sum(axis=-1)
    return result


def p_value(first: Sample, second: Sample, blocks: int = BLOCKS, seed: int = 0) -> float:
    """How often a random split of all runs is as far from the pool as the split by engines."""
    values, pooled = np.unique(np.concatenate([first, second]), return_counts=True)
    if values.size == 1:
        return 1.0
    counts = np.bincount(np.searchsorted(values, first), minlength=values.size)
    random = np.random.default_rng(seed)
    observed = distance(counts, pooled)
    beyond = 0
    for _ in range(blocks):
        splits = random.multivariate_hypergeometric(pooled, first.size, size=BLOCK)
        beyond += int((distance(splits, pooled) >= observed * (1 - 1e-12)).sum())
    return (1 + beyond) / (1 + BLOCK * blocks)


def rejected(p_values: dict[str, float], level: float = LEVEL) -> list[str]:
    """Holm's procedure: whose hypothesis falls, at a level for all of them together."""
    fallen = []
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        if p_values[name] > level / (len(p_values) - place):
            break
        fallen.append(name)
    return fallen


def compare(first: dict[str, Sample], second: dict[str, Sample]) -> dict[str, float]:
    return {field: p_value(first[field], second[field]) for field in FIELDS}


def test_both_engines_have_one_distribution() -> None:
    p_values = {
        f"{case} {field}": p for case in CASES for field, p in compare(by_rounds(case), by_events(case)).items()
    }
    assert len(p_values) == 55
    assert rejected(p_values) == [], {name: p for name, p in p_values.items() if p < 0.01}


def test_the_instances_are_hard_enough_to_tell() -> None:
    """Unsent pulls are common, batches are longer than one pull, leaders change, and some answers are wrong."""
    for case in CASES:
        runs = by_rounds(case)
        assert (runs["unsent"] > 0).mean() > 0.3, case
        assert runs["switches"].mean() > 0.5, case
        assert runs["samples"].std() > 5, case
        assert (runs["arm"] != 0).any(), case
        assert runs["samples"].mean() > 1.2 * (runs["communications"].mean() + 1) / 2 + 3, case


# Has the test the power to see a mistake? Each wrong simulator must be seen at the level of the whole family.


class Mistaken:
    """A source of randomness that makes one of the skipping simulator's draws wrongly."""

    def __init__(self, random: np.random.Generator, mistake: str) -> None:
        self.random, self.mistake = random, mistake
        self.standard_normal = random.standard_normal

    def standard_gamma(self, shape: float) -> float:
        if self.mistake == "a plan takes exactly its mean time":
            return float(shape)
        return self.random.standard_gamma(shape)

    def binomial(self, n: int, p: float) -> int:
        if self.mistake == "n instead of n − 1 pulls may be under way":
            return self.random.binomial(n + 1, p)
        if self.mistake == "half of a plan is under way":
            return self.random.binomial(n, 0.5)
        return self.random.binomial(n, p)


def by_plain_events(case: Case, mistake: str, runs: int = 2_000) -> dict[str, Sample]:
    """The events engine as plain Python, with a mistaken source of randomness."""
    engine = engine_of(case, "events", 3)
    method, schedule = engine.method, engine.schedule
    loop = loop_of(method, rebind)
    clocks = events.Clocks(np.array(schedule.rates), *schedule.windows())
    outcomes = []
    for number in range(runs):
        random: Any = Mistaken(np.random.default_rng([3, number]), mistake)
        outcome, *_ = loop(
            method.plan_width,
            method.test.squares,
            0,
            method.setting,
            engine.environment,
            clocks,
            10**9,
            random,
            np.zeros((0, 4)),
            np.zeros(1, np.int64),
        )
        outcomes.append(outcome)
    return columns(outcomes)


GAUSSIAN = Case("famabpe", "offline", "gaussian")


def bonferroni(p_values: dict[str, float]) -> list[str]:
    """Those that fall whatever the rest of the family looks like."""
    return [name for name, p in p_values.items() if p <= LEVEL / (len(CASES) * len(FIELDS))]


@pytest.mark.parametrize(
    "mistake",
    [
        "n instead of n − 1 pulls may be under way",
        "half of a plan is under way",
        "a plan takes exactly its mean time",
    ],
)
def test_a_mistaken_draw_is_seen(mistake: str) -> None:
    assert "unsent" in bonferroni(compare(by_rounds(GAUSSIAN), by_plain_events(GAUSSIAN, mistake)))


def test_the_plain_engine_without_a_mistake_is_not_seen() -> None:
    assert rejected(compare(by_rounds(GAUSSIAN), by_plain_events(GAUSSIAN, "none"))) == []


@pytest.mark.parametrize(
    "case",
    [
        Case("famabpe", "offline", "gaussian"),
        Case("ratio", "unequal", "gaussian"),
        Case("greedy", "offline", "gaussian"),
    ],
    ids=str,
)
def test_a_schedule_that_is_ignored_is_seen(case: Case) -> None:
    assert bonferroni(compare(by_rounds(case), by_events(case._replace(schedule="uniform")))) != []


def test_a_batch_with_one_noise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """n·(μ + σZ) instead of the sum of n rewards."""

    def mistaken(mean: float, noise: float, pulls: int, random: np.random.Generator) -> float:
        return float(pulls * (mean + noise * random.standard_normal()))

    monkeypatch.setattr(environment, "gaussian_sum", mistaken)
    assert bonferroni(compare(by_rounds(GAUSSIAN), by_plain_events(GAUSSIAN, "none"))) != []


def test_the_test_keeps_its_level() -> None:
    """Of a hundred comparisons of one engine with itself about five have a p value below 5 %."""
    runs = by_events(GAUSSIAN)["unsent"]
    random = np.random.default_rng(0)
    p_values = []
    for _ in range(100):
        shuffled = random.permutation(runs)[:600]
        p_values.append(p_value(shuffled[:300], shuffled[300:], blocks=1, seed=int(random.integers(2**32))))
    below = sum(p <= 0.05 for p in p_values)
    assert 0 < below < 14  # Binomial(100, 0.05) lies outside with probability 0.006
