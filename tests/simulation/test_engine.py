"""The simulator itself: repeatable runs, the right rewards, honest endings, compiled code like the plain."""

import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bestarm import Method, Offline, Problem, ProblemWarning, Result, Schedule, Tally, UserError
from bestarm.core.batch import NOBODY
from bestarm.core.breaking import Reading
from bestarm.methods import Kind, Parameter
from bestarm.methods import method as build
from bestarm.methods.composed import batch_of
from bestarm.simulation.api import prepare, simulate
from bestarm.simulation.compiled.compile import twin
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.engine import loop_of
from bestarm.simulation.worlds.environment import Environment, draw_sum, environment
from bestarm.simulation.worlds.world import World

PLAIN = Problem.quick([0.9, 0.6, 0.5], sigma=0.3, delta=0.1)
FEATURES = [[0.9, 0.0], [0.0, 0.9], [0.6, 0.6]]
LINEAR = Problem(["A", "B", "C"], features=FEATURES, theta=[0.9, 0.3], sigma=0.1, delta=0.1)
FIELDS = ("samples", "communications", "switches", "unsent", "returned", "leaders", "breaking_indices")
# Name, problem, parameters: every rule of the package is in at least one.
METHODS: dict[str, tuple[str, Problem, dict[str, Parameter]]] = {
    "famabpe": ("famabpe", PLAIN, {"gamma": 0.2}),
    "falinpe-ratio": ("falinpe", LINEAR, {"gamma1": 0.5, "gamma2": 0.2, "selection": "ratio"}),
    "falinpe-greedy": ("falinpe", LINEAR, {"gamma1": 0.5, "gamma2": 0.2, "selection": "greedy"}),
    "sharp-pairs": ("sharp", PLAIN, {"stopping": "pairs"}),
    "sharp-span": ("sharp", LINEAR, {"stopping": "span"}),
    "ugapec": ("ugapec", PLAIN, {}),
    "lingape": ("lingape", LINEAR, {}),
    "sync-ugapec": ("sync-ugapec", PLAIN, {"period": 7}),
    "sync-lingape": ("sync-lingape", LINEAR, {"period": 7}),
}


def method_of(name: str, agents: int = 4) -> Method:
    base, problem, parameters = METHODS[name]
    return build(base, problem, agents=agents, **parameters)


def run(name: str, runs: int = 30, seed: int = 0, **how: Any) -> Result:
    method = method_of(name)
    return simulate(method.problem, method, runs=runs, seed=seed, **how)


def same(first: Result, second: Result) -> bool:
    return all(np.array_equal(getattr(first, field), getattr(second, field)) for field in FIELDS)


# The same seed


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_runs(name: str) -> None:
    first = run(name)
    assert same(first, run(name))
    assert not same(first, run(name, seed=1))
    # A run depends on the seed and its own number, not on the runs before it.
    few, engine = run(name, runs=7), prepare(method_of(name), seed=0)
    assert np.array_equal(first.samples[:7], few.samples)
    assert engine.run(20).samples == first.samples[20]


@pytest.mark.parametrize("name", ["famabpe", "falinpe-ratio", "sync-ugapec"])
@pytest.mark.parametrize("engine", ["events", "rounds"])
def test_the_number_of_jobs_does_not_matter(name: str, engine: str) -> None:
    assert same(run(name, engine=engine), run(name, engine=engine, jobs=2))


@pytest.mark.parametrize("name", METHODS)
def test_compiled_and_plain_loops_make_the_same_runs(name: str) -> None:
    """numba's Generator draws the same numbers as numpy's, and the code is the same: so are the runs."""
    method = method_of(name)
    compiled = prepare(method, seed=5)
    loop = loop_of(method, rebind)
    for number in range(12):
        outcome = compiled.run(number)
        random = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(number,)))
        limit, trace = compiled.max_samples, np.zeros((0, 4))
        plain, *_ = loop(*compiled._arguments, limit, random, trace, np.zeros(1, np.int64))
        assert outcome._replace(breaking_index=0.0) == plain._replace(breaking_index=0.0)
        assert outcome.breaking_index == pytest.approx(plain.breaking_index, rel=1e-9, abs=1e-12)


# Compiled rules


def close(left: object, right: object, relative: float) -> None:
    np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=relative, atol=1e-12)


def random_tallies(arms: int, number: int) -> Iterator[Tally]:
    random = np.random.default_rng(arms)
    for _ in range(number):
        counts = random.integers(1, 10 ** random.integers(1, 6), arms)
        yield Tally.of(counts.tolist(), (counts * random.normal(0.5, 0.5, arms)).tolist())


def all_close(left: tuple[object, ...], right: tuple[object, ...], relative: float) -> None:
    """Named tuples of numbers, arrays and such tuples."""
    for one, other in zip(left, right, strict=True):
        if isinstance(one, tuple) and isinstance(other, tuple):
            all_close(one, other, relative)
        else:
            close(one, other, relative)


@pytest.mark.parametrize("name", METHODS)
def test_compiled_rules_read_and_choose_like_interpreted_ones(name: str) -> None:
    """State, reading, arm, batch size, and the view after planned pulls; the runs compare whole plans."""
    method = method_of(name)
    rules, setting = method.rules, method.setting
    begin, fold, read, choose, trigger, foresee = (
        twin(rule) for rule in (rules.begin, rules.fold, rules.read, rules.choose, rules.trigger, rules.foresee)
    )
    for tally in random_tallies(setting.arms, 100):
        state = method.begin(tally)
        reading, view = method.read(state), state.estimate
        method.plan(tally)  # solves the linear programme, where there is one
        compiled = fold(begin(setting), batch_of(tally, NOBODY), setting)
        all_close(compiled, state, 1e-12)
        compiled_reading = Reading(*read(compiled, setting))
        assert compiled_reading[:2] == reading[:2]
        close(compiled_reading[2:], reading[2:], 1e-11)
        arm = rules.choose(state.pulls, view, reading, setting)
        assert choose(compiled.pulls, compiled.estimate, compiled_reading, setting) == arm
        size = rules.trigger(view, reading, arm, setting)
        assert trigger(compiled.estimate, compiled_reading, arm, setting) == size
        ahead = rules.foresee(view, arm, 12.0, setting)
        all_close(foresee(compiled.estimate, arm, 12.0, setting), ahead, 1e-12)


@pytest.mark.parametrize("name", ["ugapec", "lingape"])
def test_compiled_absorbing_is_the_same(name: str) -> None:
    method = method_of(name)
    absorb = twin(method.rules.absorb)
    for number, tally in enumerate(random_tallies(method.setting.arms, 50)):
        arm, (first, second) = number % method.setting.arms, (method.begin(tally) for _ in range(2))
        plain = method.rules.absorb(first, arm, 0.25, method.setting)
        all_close(absorb(second, arm, 0.25, method.setting), plain, 1e-12)


# Schedules


def test_a_replayed_schedule_is_followed_round_by_round() -> None:
    """Agent 1 alone is active, then agent 0; the run ends with the list."""
    method = build("famabpe", PLAIN, agents=2, gamma=0.5)
    schedule = Schedule.replayed(2, [1, 1, 0, 1, 0, 0])
    result = simulate(PLAIN, method, runs=5, schedule=schedule, seed=3)
    assert result.engine == "rounds"
    assert (result.samples == 3 + 6).all()
    assert result.unfinished == 5
    # N = 3: the first plans have 2 pulls. Agent 1 sends 2, N = 5, and plans 3; agent 0's second pull sends 2.
    assert (result.communications == 2 * 2 - 1).all()
    assert (result.unsent == 2).all()


def test_a_replayed_schedule_can_not_be_skipped() -> None:
    with pytest.raises(UserError, match="a replayed schedule names every round"):
        simulate(PLAIN, "famabpe", runs=1, engine="events", schedule=Schedule.replayed(10, [0, 1]))


def test_rates_are_shares_of_the_pulls() -> None:
    schedule = Schedule((3.0, 1.0))
    rounds = schedule.rounds(np.random.default_rng(0))
    share = np.mean([next(rounds) == 0 for _ in range(20_000)])
    assert share == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 20_000))


@pytest.mark.parametrize("engine", ["events", "rounds"])
def test_everybody_leaves_and_the_run_ends_undecided(engine: str) -> None:
    schedule = Schedule((1.0, 1.0), (Offline(0, 4.0), Offline(1, 6.0)))
    hard = Problem.quick([0.5, 0.499], sigma=1.0)
    result = simulate(hard, "famabpe", agents=2, runs=400, seed=1, engine=engine, schedule=schedule, gamma=0.5)
    assert result.unfinished == 400
    assert sum(result.arms.values()) == 0
    # Poisson(4) + Poisson(6) pulls after the two first ones, sent or not.
    assert result.samples.mean() == pytest.approx(12, abs=4 * math.sqrt(10 / 400))
    assert result.samples.var() == pytest.approx(10, rel=0.35)
    assert (result.unsent > 0).any()


@pytest.mark.parametrize("engine", ["events", "rounds"])
def test_nobody_ever_comes(engine: str) -> None:
    schedule = Schedule((1.0,), (Offline(0, 0.0),))
    result = simulate(PLAIN, "famabpe", agents=1, runs=3, engine=engine, schedule=schedule)
    assert result.unfinished == 3
    assert (result.samples == 3).all()
    assert (result.communications == 0).all()


# Endings


@pytest.mark.parametrize("name", METHODS)
def test_too_few_samples_end_undecided(name: str) -> None:
    """Undecided runs have a leader and an index, are counted as unfinished, and are nobody's answer."""
    method = method_of(name)
    hard = Problem.from_dict(method.problem.to_dict() | {"sigma": 30.0})
    base, _, parameters = METHODS[name]
    for engine in ("events", "rounds"):
        result = simulate(
            hard, build(base, hard, agents=4, **parameters), runs=40, seed=0, engine=engine, max_samples=60
        )
        assert result.unfinished == 40
        assert result.wrong == 0
        assert set(result.arms.values()) == {0}
        assert (result.returned == -1).all()
        assert len(set(result.leaders.tolist())) > 1
        assert (result.breaking_indices > hard.epsilon).all()
        assert (result.samples >= 60).all()
        assert (result.samples - result.unsent < 60 + 200).all()
        shown = json.loads(json.dumps(result.to_json()))["unfinished"]
        assert shown["count"] == 40
        assert shown["each"][0]["leader"] in hard.arms
        assert shown["each"][0]["breaking_index"] > 0


def test_some_finished_and_some_not() -> None:
    whole = simulate(PLAIN, "famabpe", agents=4, runs=200, seed=2)
    limit = int(np.median(whole.samples))
    cut = simulate(PLAIN, "famabpe", agents=4, runs=200, seed=2, max_samples=limit)
    assert 0 < cut.unfinished < 200
    assert sum(cut.arms.values()) + cut.unfinished == 200
    # A run that fits below the limit is the same run.
    assert np.array_equal(cut.samples[cut.returned >= 0], whole.samples[cut.returned >= 0])


@pytest.mark.parametrize("name", ["famabpe", "sharp"])
def test_equal_arms_and_no_epsilon_never_end_by_themselves(name: str) -> None:
    """The radius shrinks slower than chance can deceive it, so a run goes on until it is stopped."""
    equal = Problem.quick([0.5, 0.5, 0.5], sigma=0.3)
    result = simulate(equal, name, agents=10, runs=50, seed=0, max_samples=10**6)
    assert result.unfinished >= 45
    assert (result.samples[result.returned < 0] >= 10**6).all()
    assert result.wrong == 0  # any answer would be right


def test_equal_arms_end_when_epsilon_allows_it() -> None:
    equal = Problem.quick([0.5, 0.5, 0.5], sigma=0.3, epsilon=0.2)
    result = simulate(equal, "famabpe", agents=10, runs=50, seed=0)
    assert result.unfinished == 0
    assert result.wrong == 0


def test_an_answer_within_epsilon_is_not_wrong() -> None:
    close = Problem.quick([0.5, 0.45, 0.0], sigma=0.3, epsilon=0.1)
    result = simulate(close, "sharp", agents=4, runs=300, seed=0)
    assert result.arms["arm-2"] > 0
    assert result.wrong == 0


FEW: dict[str, Any] = {"runs": 1, "engine": "rounds"}


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"runs": 0}, "runs is 0; it must be a whole number of at least 1."),
        ({"seed": -1}, "seed is -1; it must be a whole number of at least 0."),
        ({"jobs": 0}, "jobs is 0; it must be a whole number of at least 1."),
        ({"engine": "steam"}, "engine is 'steam'; it must be one of events, rounds."),
        ({"max_samples": 2}, "max_samples is 2; it must be a whole number of at least 3."),
        ({"rewards": "gold"}, "rewards is 'gold'; it must be one of gaussian, yes-no, bounded, table, heavy."),
        ({"rewards": "table"}, "rewards=table needs a table of measured values for each arm."),
        ({"rewards": "bounded"}, "rewards=bounded needs a problem with a reward_range."),
        ({"table": {"arm-1": [1.0]}}, "the table of rewards has no values for ['arm-2', 'arm-3']; it must …"),
        ({"table": {"arm-9": [1.0]}}, "the table of rewards has unknown arms ['arm-9']; it must have …"),
    ],
)
def test_what_can_not_be_simulated_is_one_sentence(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        simulate(PLAIN, "famabpe", **FEW | how)
    assert str(caught.value).startswith(sentence.rstrip("…"))


def test_a_method_keeps_its_problem_and_its_parameters() -> None:
    """A method that was built before can't be run on another problem, or with other parameters, unnoticed."""
    method = build("famabpe", PLAIN, agents=4)
    with pytest.raises(UserError, match=r"^the method was built for problem 'problem' with other numbers"):
        simulate(Problem.quick([0.9, 0.6, 0.5], sigma=0.2, delta=0.1), method, **FEW)
    with pytest.raises(UserError, match=r"^gamma can't be given with a method that was built before"):
        simulate(PLAIN, method, gamma=0.5, **FEW)


# Rewards


def drawn(world: Environment, arm: int, size: int, times: int, compiled: bool) -> np.ndarray:
    """Sums of `size` rewards of an arm, many times."""
    draw = twin(draw_sum) if compiled else draw_sum
    random = np.random.default_rng(7)
    return np.array([draw(world, arm, size, random) for _ in range(times)])


VALUES = {"A": [0.0, 1.0, 1.0, 5.0], "B": [2.0], "C": [-1.0, 0.5]}
RANGED = Problem(["A", "B", "C"], reward_range=(-1.0, 3.0), means=[0.0, 2.0, 3.0])


def world_of(kind: str) -> Environment:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Bernoulli rewards", ProblemWarning)
        if kind == "table":
            return environment(Problem(["A", "B", "C"], sigma=2.0), World(table=VALUES))
        if kind == "bounded":
            return environment(RANGED)
        return environment(Problem(["A", "B", "C"], sigma=0.4, means=[0.3, 0.8, 1.0]), World(kind))


def moments(kind: str, world: Environment, arm: int) -> tuple[float, float]:
    """Mean and variance of one reward, from what the kind of rewards is said to be."""
    mean = float(world.means[arm])
    if kind == "gaussian":
        return mean, 0.4**2
    if kind == "bernoulli":
        return mean, mean * (1 - mean)
    if kind == "bounded":  # Beta with concentration 4 over the range
        share = (mean + 1) / 4
        return mean, share * (1 - share) / (4 + 1) * 4**2
    values = VALUES["ABC"[arm]]
    return float(np.mean(values)), float(np.var(values))


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("size", [1, 3, 40])
@pytest.mark.parametrize("kind", ["gaussian", "bernoulli", "bounded", "table"])
def test_sums_have_the_mean_and_variance_of_their_rewards(kind: str, size: int, compiled: bool) -> None:
    world = world_of(kind)
    for arm in range(3):
        mean, variance = moments(kind, world, arm)
        sums = drawn(world, arm, size, 4000, compiled)
        error = math.sqrt(size * variance / sums.size)
        assert abs(sums.mean() - size * mean) <= 4.5 * error + 1e-12
        # The variance of a variance needs the fourth moment; it comes from the sums themselves.
        spread = (sums - sums.mean()) ** 2
        assert abs(spread.mean() - size * variance) <= 4.5 * spread.std() / math.sqrt(sums.size) + 1e-12


@pytest.mark.parametrize("kind", ["bernoulli", "table"])
def test_sums_have_the_distribution_of_drawing_one_by_one(kind: str) -> None:
    """A chi-square test on the values that occur, rare ones together."""
    world = world_of(kind)
    together = drawn(world, 0, 6, 20_000, compiled=True)
    singly = drawn(world, 0, 1, 6 * 20_000, compiled=False).reshape(-1, 6).sum(axis=1)
    edges = np.unique(np.quantile(np.concatenate([together, singly]), np.linspace(0, 1, 12)))
    table = [np.histogram(side, bins=np.append(edges, np.inf))[0] for side in (together, singly)]
    filled = np.array(table)[:, np.sum(table, axis=0) > 20]
    assert stats.chi2_contingency(filled).pvalue > 1e-4


def test_bounded_rewards_stay_in_their_range() -> None:
    world = world_of("bounded")
    for arm in range(3):
        rewards = drawn(world, arm, 1, 2000, compiled=False)
        assert rewards.min() >= -1.0
        assert rewards.max() <= 3.0


def test_a_table_gives_only_its_values() -> None:
    assert set(drawn(world_of("table"), 0, 1, 2000, compiled=False)) == {0.0, 1.0, 5.0}


def test_the_kind_of_rewards_follows_from_the_problem() -> None:
    assert environment(PLAIN).kind == world_of("gaussian").kind
    assert environment(RANGED).kind == world_of("bounded").kind
    assert environment(PLAIN, World(table={name: [1.0] for name in PLAIN.arms})).kind == world_of("table").kind


# Counting


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("engine", ["events", "rounds"])
def test_every_run_is_counted_as_the_paper_counts(name: str, engine: str) -> None:
    method = method_of(name)
    for number in range(5):
        outcome, trace = prepare(method, seed=3, engine=engine).trace(number)
        assert outcome.stopped
        assert trace[-1, 2] == outcome.breaking_index <= method.problem.epsilon
        assert (trace[:-1, 2] > method.problem.epsilon).all()  # it stops at the first chance
        assert (np.diff(trace[:, 0]) > 0).all()
        assert trace[-1, 0] == outcome.samples - outcome.unsent
        if method.kind is Kind.FEDERATED:
            # Uploads and downloads, without the download after the last upload.
            assert outcome.communications == 2 * outcome.uploads - 1 == 2 * len(trace) - 1
            assert outcome.switches <= outcome.samples
        elif method.kind is Kind.SYNCHRONOUS:
            assert outcome.communications == 2 * method.agents * len(trace)
            assert outcome.samples == method.problem.K + 4 * 7 * len(trace)
        else:
            assert (outcome.communications, outcome.unsent) == (0, 0)


def test_a_period_of_all_agents_together() -> None:
    """The paper's second reading: 10 pulls of 4 agents, 3 + 3 + 2 + 2."""
    method = build("sync-ugapec", PLAIN, agents=4, period=10, period_counts="all")
    result = simulate(PLAIN, method, runs=20, seed=0)
    assert ((result.samples - 3) % 10 == 0).all()
    assert np.array_equal(result.communications, 8 * (result.samples - 3) // 10)


def test_agents_do_not_matter_to_a_single_agent() -> None:
    few, many = (simulate(PLAIN, "ugapec", agents=agents, runs=10, seed=0) for agents in (1, 50))
    assert same(few, many)


# The cache

SMALL = (
    "import bestarm\n"
    "problem = bestarm.Problem.quick([0.9, 0.2], sigma=0.3)\n"
    "print(bestarm.simulate(problem, 'ugapec', runs=3, seed=0).samples.tolist())\n"
)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_second_start_compiles_nothing(tmp_path: Path) -> None:
    environment_ = os.environ | {"BESTARM_CACHE": str(tmp_path)}

    def start() -> str:
        command = [sys.executable, "-c", SMALL]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment_).stdout

    first = start()
    compiled = files(tmp_path)
    assert any(name.endswith(".nbc") for name in compiled)
    assert start() == first
    assert files(tmp_path) == compiled
