"""Simulated worlds: what sites, time and arms add to a reward, and that both engines agree about it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bestarm import Offline, Problem, ProblemWarning, Schedule, UserError, simulate
from bestarm.core.arrays import Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.methods import method as build
from bestarm.protocol.server import Server
from bestarm.simulation.api import prepare
from bestarm.simulation.engine import Engine
from bestarm.simulation.federation import Federation
from bestarm.simulation.rounds import run_rounds
from bestarm.simulation.worlds.environment import (
    BOUNDED,
    Environment,
    environment,
    fill,
    with_interactions,
)
from bestarm.simulation.worlds.world import World

UNLIKELY = 1e-4
PLAIN = Problem(["A", "B", "C"], means=[0.9, 0.6, 0.5], sigma=0.3, delta=0.1)
UNIT = Problem(["A", "B", "C"], means=[0.5, 0.3, 0.2], reward_range=[0.0, 1.0], delta=0.1)
TABLE = {"A": [0.9, 0.2, 0.4], "B": [0.5, 0.1], "C": [0.0]}
RATES = Problem(["A", "B", "C"], means=[0.5, 0.3, 0.2], rewards="yes-no")
ONES = {"A": [1.0, 1.0, 0.0], "B": [0.0, 1.0], "C": [0.0]}
NARROW = Problem(["A", "B", "C"], means=[0.5, 0.3, 0.2], reward_range=[0.1, 0.7])


def batch_of(world: Environment, site: int, known: int, pulls: int = 5, seed: int = 0) -> Batch:
    """Some pulls of each arm at a site."""
    arms = world.means.size
    batch = Batch(site, np.arange(arms), np.full(arms, pulls), np.zeros(arms), np.zeros(arms))
    fill(batch, world, np.random.default_rng(seed), known)
    return batch


def rewards_of(world: Environment, arm: int, site: int, known: int, draws: int = 4_000) -> Floats:
    """Rewards of an arm at a site, one by one."""
    batch = Batch(site, np.full(draws, arm), np.ones(draws, np.int64), np.zeros(draws), np.zeros(0))
    fill(batch, world, np.random.default_rng(5), known)
    return batch.sums


# What a reward is


def test_a_site_a_time_and_an_arm_at_a_site_add_up() -> None:
    """Sites after the last offset begin again with the first, and so do the rows of interactions."""
    matrix = [[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]]
    world = environment(PLAIN, World(noise=0.0, offsets=[0.0, 1.0, -2.0], drift=0.5, interactions=matrix))
    for site in range(8):
        for known in (3, 100, 1000):
            added = [0.0, 1.0, -2.0][site % 3] + 0.5 * np.sin(known / (20 * 3))
            wanted = np.array([0.9, 0.6, 0.5]) + matrix[site % 2] + added
            np.testing.assert_allclose(batch_of(world, site, known).sums, 5 * wanted, rtol=1e-12)
    np.testing.assert_allclose(batch_of(world, NOBODY, 0).sums, [4.5, 3.0, 2.5])


@pytest.mark.parametrize(
    ("problem", "world", "law"),
    [
        (PLAIN, World(noise=[0.1, 0.2, 0.4]), stats.norm(0.6 - 0.7, 0.2)),
        (PLAIN, World("normal"), stats.norm(0.6 - 0.7, 0.3)),
        (PLAIN, World("heavy", noise=0.2), stats.t(3, 0.6 - 0.7, 0.2 / np.sqrt(3))),
        (UNIT, World("bounded"), stats.beta(4 * 0.1, 4 * 0.9)),
        (UNIT, World(noise=0.1), stats.beta(20 * 0.1, 20 * 0.9)),  # 0.3 · 0.7/0.1² − 1 = 20
    ],
    ids=["noise by arm", "sigma", "heavy", "bounded", "bounded with noise"],
)
def test_one_reward_has_its_law(problem: Problem, world: World, law: Any) -> None:
    """Arm B at the second site when the drift is at its largest: 0.7 lower, or in the range 0.2 lower."""
    offset, drift = (-0.5, -0.2) if problem is PLAIN else (-0.1, -0.1)
    moved = environment(problem, World(world.rewards, noise=world.noise, offsets=[0.0, offset], drift=drift))
    rewards = rewards_of(moved, 1, 4_001, 94)  # sin(94/60) is 1, to five digits
    assert stats.kstest(rewards, law.cdf).pvalue > UNLIKELY


def test_yes_no_rates_move_in_log_odds() -> None:
    world = environment(UNIT, World("yes-no", offsets=[0.7], interactions=[[0.0, 0.5, 0.0]]))
    odds = 0.3 / 0.7 * np.exp(1.2)
    rewards = rewards_of(world, 1, 0, 0, 20_000)
    assert set(rewards) == {0.0, 1.0}
    assert stats.binomtest(int(rewards.sum()), rewards.size, odds / (1 + odds)).pvalue > UNLIKELY


def test_bounded_rewards_and_tables_stay_in_the_range() -> None:
    for world in (World(offsets=[0.45]), World(offsets=[3.0]), World(table=TABLE, offsets=[0.45])):
        for arm in range(3):
            rewards = rewards_of(environment(UNIT, world), arm, 0, 0, 500)
            assert rewards.min() >= 0.0
            assert rewards.max() <= 1.0
    assert set(rewards_of(environment(UNIT, World(table=TABLE, offsets=[0.25])), 0, 0, 0, 200)) == {
        1.0,
        0.45,
        0.65,
    }


def test_words_of_old_and_the_words_of_a_problem_file_mean_the_same() -> None:
    assert World("bernoulli") == World("yes-no")
    assert World("normal") == World("gaussian")
    given: Any = np.array([1, 2])
    assert World(offsets=given) == World(offsets=(1.0, 2.0))


# The same noise


@pytest.mark.parametrize("rewards", ["gaussian", "heavy"])
def test_offsets_and_drift_leave_the_noise_as_it_is(rewards: str) -> None:
    """Differences inside a batch, and the scatter inside each arm, are the same up to rounding."""
    plain = batch_of(environment(PLAIN, World(rewards)), 1, 40)
    moved = batch_of(environment(PLAIN, World(rewards, offsets=[0.0, 5.0], drift=2.0)), 1, 40)
    added = 5.0 + 2.0 * np.sin(40 / 60)
    np.testing.assert_allclose(moved.sums / 5 - added, plain.sums / 5, rtol=0, atol=1e-12)
    inside = [batch.squares - batch.sums**2 / 5 for batch in (plain, moved)]  # the centre is 0
    np.testing.assert_allclose(inside[1], inside[0], rtol=1e-9)


@pytest.mark.parametrize("engine", ["events", "rounds"])
def test_a_run_in_a_moved_world_draws_the_same_random_numbers(engine: str) -> None:
    """The first upload of a run comes at the same time; drawn interactions have random numbers of their own."""
    method = build("famabpe", PLAIN, agents=3, gamma=0.3)
    worlds = [World(), World(offsets=[1.0, 2.0]), World(drift=1.0), World(interactions=0.2), World(noise=0.2)]
    first = [prepare(method, 4, engine, world, max_samples=4).trace(0)[1][0, :2] for world in worlds]
    np.testing.assert_array_equal(first, [first[0]] * len(worlds))


@pytest.mark.parametrize("engine", ["events", "rounds"])
@pytest.mark.parametrize("rewards", ["gaussian", "heavy"])
@pytest.mark.parametrize("goal", ["highest", "lowest"])
def test_for_rule_out_a_moved_world_is_the_same(rewards: str, goal: str, engine: str) -> None:
    """It compares inside batches only: with the same noise its runs are the same."""
    problem = Problem(["A", "B", "C"], means=[0.9, 0.6, 1.2], goal=goal)
    worlds: list[dict[str, Any]] = [{}, {"offsets": [0.9, -0.9, 0.0], "drift": 0.5}]
    plain, moved = (
        simulate(problem, agents=3, runs=20, rewards=rewards, noise=0.3, engine=engine, **world)
        for world in worlds
    )
    assert plain.samples.tolist() == moved.samples.tolist()


# Interactions that are drawn


@pytest.mark.parametrize("problem", [PLAIN, UNIT], ids=["gaussian", "range"])
@pytest.mark.parametrize("rewards", [None, "yes-no"])
def test_the_best_arm_stays_the_best_at_every_site(problem: Problem, rewards: str | None) -> None:
    """By a tenth of the smallest gap, in log odds for yes-no; with so much scatter the limit is met often."""
    means = np.array(problem.means)
    level = np.log(means / (1 - means)) if rewards == "yes-no" else means
    scatter = 2 * (level[0] - level[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        world = environment(problem, World(rewards, offsets=[0.0, 0.3], interactions=scatter))
    drawn = with_interactions(world, 200, np.random.default_rng(0)).levels
    assert drawn.shape == (201, 3)
    np.testing.assert_array_equal(drawn[-1], means)
    there = (np.log(drawn / (1 - drawn)) if rewards == "yes-no" else drawn)[:-1]
    there -= np.tile([[0.0], [0.3]], (100, 1))
    deviations = there - level
    least = 0.1 * (level[0] - level[1])
    lead = there[:, 0] - there[:, 1:].max(axis=1)
    assert lead.min() >= least - 1e-9
    assert 20 < (lead < least + 1e-9).sum() < 180
    if world.kind == BOUNDED:
        assert there[:, 0].max() <= 1.0 + 1e-9
        assert there[:, 0].min() >= least - 1e-9
    else:
        assert deviations[:, 0].std() == pytest.approx(scatter, rel=0.2)  # the best arm's are not limited


def test_every_run_has_interactions_of_its_own() -> None:
    engine = prepare(build("famabpe", PLAIN, agents=3), 1, "rounds", World(interactions=0.2))
    levels = [engine._world(number).levels for number in (0, 1, 0)]
    assert not np.array_equal(levels[0], levels[1])
    np.testing.assert_array_equal(levels[0], levels[2])


# Both engines


FULL = World(noise=[0.25, 0.35, 0.3], offsets=[0.0, 0.15, -0.1], drift=0.15, interactions=[[0.0, 0.05, -0.1]])


def samples_of(engine: Engine, runs: range) -> dict[str, list[float]]:
    outcomes = [engine.run(number) for number in runs]
    return {field: [getattr(one, field) for one in outcomes] for field in ("samples", "uploads", "unsent")}


@pytest.mark.parametrize(
    ("name", "problem", "world"),
    [
        ("famabpe", PLAIN, FULL),
        ("sharp", PLAIN, FULL),
        ("famabpe", PLAIN, World("heavy", offsets=[0.0, 0.2], drift=0.1, interactions=0.1)),
        ("famabpe", UNIT, World("yes-no", offsets=[0.5, -0.5], drift=0.5, interactions=0.2)),
        ("famabpe", UNIT, World(noise=0.2, offsets=[0.1, -0.1], drift=0.1)),
        ("famabpe", UNIT, World(table=TABLE, offsets=[0.1, -0.1], drift=0.1)),
    ],
    ids=["famabpe", "sharp", "heavy", "yes-no", "bounded", "table"],
)
def test_both_engines_agree(name: str, problem: Problem, world: World) -> None:
    """Three agents of different speed, of which one leaves for good, in the same world."""
    method = build(name, problem, agents=3, **({"gamma": 0.3} if name == "famabpe" else {}))
    schedule = Schedule((1.0, 3.0, 0.5), (Offline(2, 40.0),))
    events, rounds = (
        prepare(method, seed, engine, world, schedule, max_samples=1_000)
        for seed, engine in ((11, "events"), (12, "rounds"))
    )
    skipped, stepped = samples_of(events, range(600)), samples_of(rounds, range(150))
    for field, values in skipped.items():
        assert stats.ks_2samp(values, stepped[field]).pvalue > UNLIKELY, field


def test_worlds_that_differ_are_told_apart() -> None:
    """The comparison has teeth: another drift, offsets in another order, and it fails."""
    method = build("famabpe", PLAIN, agents=2, gamma=0.3)
    schedule = Schedule((1.0, 9.0))

    def samples(seed: int, world: World) -> list[float]:
        return samples_of(prepare(method, seed, "events", world, schedule, 3_000), range(600))["samples"]

    for one, other in [
        (World(drift=0.3), World(drift=-0.3)),
        (World(interactions=[[0, 0.25, 0], [0, 0, 0]]), World(interactions=[[0, 0, 0], [0, 0.25, 0]])),
    ]:
        assert stats.ks_2samp(samples(1, one), samples(2, other)).pvalue < UNLIKELY


@pytest.mark.parametrize(
    ("name", "given"),
    [("famabpe", {}), ("sharp", {"stopping": "pairs"}), ("ugapec", {}), ("sync-ugapec", {"period": 7})],
    ids=["famabpe", "pairs", "ugapec", "sync-ugapec"],
)
def test_without_noise_both_engines_make_the_same_run(name: str, given: dict[str, Any]) -> None:
    """One agent and no noise: nothing is left to chance but when it works, and drift has one definition."""
    method = build(name, PLAIN, agents=1, **given)
    world = World(noise=0.0, offsets=[0.4], drift=0.1, interactions=[[0.0, 0.1, 0.2]])
    (plain, rows), (outcome, traced) = (
        prepare(method, 1, engine, world, max_samples=2_000).trace(0) for engine in ("rounds", "events")
    )
    assert plain.samples == outcome.samples
    np.testing.assert_allclose(traced[:, [0, 2]], rows[:, [0, 2]], rtol=1e-9)
    still = prepare(method, 1, "rounds", World(noise=0.0, interactions=world.interactions), max_samples=2_000)
    assert not np.allclose(still.trace(0)[1][:5, 2], rows[:5, 2])


def test_the_drift_is_that_of_the_samples_known_when_the_plan_was_made() -> None:
    """With three agents a batch is as old as its plan, not as its upload."""
    method = build("famabpe", PLAIN, agents=3, gamma=0.5)
    world = environment(PLAIN, World(noise=0.0, offsets=[0.0, 1.0, 2.0], drift=0.1))
    federation = Federation(method, world, Schedule.uniform(3), np.random.default_rng(1))
    known, ages = [3, 3, 3], set()
    for active, upload in federation.pulls():
        if upload is not None:
            (arm, (pulls, total)) = next(iter(upload.tally.rows.items()))
            added = active + 0.1 * np.sin(known[active] / 60)
            assert total / pulls == pytest.approx(world.means[arm] + added, abs=1e-9)
            ages.add(federation.server.samples - known[active] - pulls)
            known[active] = federation.server.samples
            if len(federation.server.log) == 60:
                break
    assert len(ages) > 3  # the others did upload in between


# Plates


def test_plans_are_whole_plates_in_both_engines() -> None:
    method = build("sharp", PLAIN, agents=3)
    schedule = Schedule((1.0, 3.0, 0.5), plate=8)
    sizes: list[int] = []

    def observe(server: Server) -> None:
        sizes.append(server.log[-1].tally.samples)

    outcome = run_rounds(method, environment(PLAIN), schedule, np.random.default_rng(0), 10**5, observe)
    assert outcome.stopped
    assert {size % 8 for size in sizes} == {0}
    events, rounds = (prepare(method, 1, engine, schedule=schedule) for engine in ("events", "rounds"))
    for number in range(20):
        outcome = events.run(number)
        assert (outcome.samples - outcome.unsent - 3) % 8 == 0
    skipped, stepped = samples_of(events, range(600)), samples_of(rounds, range(150))
    for field, values in skipped.items():
        assert stats.ks_2samp(values, stepped[field]).pvalue > UNLIKELY, field
    same = simulate(PLAIN, "sharp", agents=3, runs=5, plate=8, engine="rounds")
    assert (same.samples - same.unsent - 3 >= 8).all()


def test_a_plate_of_one_changes_nothing() -> None:
    plain, single = (simulate(PLAIN, "sharp", agents=3, runs=10, plate=plate) for plate in (None, 1))
    np.testing.assert_array_equal(plain.samples, single.samples)


# Sentences


@pytest.mark.parametrize(
    ("problem", "given", "sentence"),
    [
        (
            PLAIN,
            {"rewards": "exact"},
            "rewards is 'exact'; it must be one of gaussian, yes-no, bounded, table, heavy.",
        ),
        (PLAIN, {"noise": "much"}, "noise is 'much'; it must be a list of numbers."),
        (PLAIN, {"noise": -0.1}, "noise is -0.1; it must be at least 0."),
        (PLAIN, {"noise": [0.1, 0.2]}, "noise has 2 numbers; it must be one, or 3, one for each arm."),
        (UNIT, {"noise": 0.3, "rewards": "yes-no"}, "rewards=yes-no have the scatter that follows from them"),
        (UNIT, {"noise": 0.3, "table": TABLE}, "rewards=table have the scatter that follows from them"),
        (
            UNIT,
            {"noise": 0.45},
            "noise is 0.45; rewards between 0 and 1 with the mean 0.2 of arm 'C' scatter by",
        ),
        (RATES, {"table": ONES, "drift": 0.1}, "the rewards of problem 'problem' are 0 or 1: a table of them"),
        (NARROW, {"rewards": "yes-no"}, "rewards=yes-no are 0 or 1, and the reward_range is from 0.1 to 0.7."),
        (PLAIN, {"offsets": 0.1}, "offsets is 0.1; it must be a list of numbers."),
        (PLAIN, {"offsets": [0.1, None]}, "offsets[1] is None; it must be a finite number."),
        (PLAIN, {"drift": float("nan")}, "drift is nan; it must be a finite number."),
        (PLAIN, {"interactions": -1}, "interactions is -1; it must be a number of at least 0."),
        (
            PLAIN,
            {"interactions": [[0.1, 0.2]]},
            "interactions[0] has 2 numbers; it must have 3, one for each arm.",
        ),
        (PLAIN, {"table": [1, 2]}, "table is [1, 2]; it must have a list of values for each arm."),
        (PLAIN, {"plate": 0}, "plate is 0; it must be a whole number from 1 to"),
    ],
)
def test_what_is_no_world_is_one_sentence(problem: Problem, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        simulate(problem, "famabpe", agents=2, runs=2, engine="rounds", **given)
    assert str(caught.value).startswith(sentence)


# What is said about them


def test_the_lower_bound_is_for_the_noise_that_there_is() -> None:
    told, true = (
        simulate(PLAIN, "famabpe", agents=2, runs=2, engine="rounds", noise=noise) for noise in (None, 0.1)
    )
    assert told.bounds is not None
    assert true.bounds is not None
    assert true.bounds.lower == pytest.approx(told.bounds.lower / 9)
    assert true.bounds.samples == told.bounds.samples  # the theorem's is for what the method is told
    by_arm = simulate(PLAIN, "famabpe", agents=2, runs=2, engine="rounds", noise=[0.2, 0.1, 0.3])
    assert by_arm.bounds is not None
    assert by_arm.bounds.lower == pytest.approx(true.bounds.lower)


def test_a_result_says_which_world_it_is_from() -> None:
    result = simulate(UNIT, "famabpe", agents=2, runs=2, engine="rounds", rewards="bernoulli", offsets=[0, 1])
    assert result.to_json()["world"] == {"rewards": "yes-no", "offsets": (0.0, 1.0)}
    assert simulate(PLAIN, "famabpe", agents=2, runs=2, engine="rounds").to_json()["world"] == {}
