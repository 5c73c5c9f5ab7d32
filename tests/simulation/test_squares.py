"""Sums and squares of many pulls at once are distributed as if each reward had been drawn by itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from toys import SCATTERED, known, variance

from bestarm import Agent, Problem, Server, Stop
from bestarm.core.arrays import Floats
from bestarm.core.batch import Batch
from bestarm.methods import method as build
from bestarm.protocol.entries import Join
from bestarm.simulation.api import prepare
from bestarm.simulation.compiled.compile import twin
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.engine import loop_of
from bestarm.simulation.worlds.environment import Environment, draw_sum, environment, fill
from bestarm.simulation.worlds.world import World

UNLIKELY = 1e-4
DRAWS = 4_000
TABLE = {"A": [0.9, 0.2, 0.4], "B": [0.5, 0.1]}
UNIT = Problem(["A", "B"], reward_range=[0.0, 1.0], means=[0.7, 0.2])
WORLDS: dict[str, Environment] = {
    "gaussian": environment(Problem(["A", "B"], means=[0.7, 0.2], sigma=0.3, centre=0.5)),
    "bernoulli": environment(UNIT, World("yes-no")),
    "bounded": environment(UNIT),
    "table": environment(UNIT, World(table=TABLE)),
    "gaussian elsewhere": environment(
        Problem(["A", "B"], means=[0.7, 0.2], sigma=0.3, centre=0.5), World(noise=[0.2, 0.4], offsets=[-0.4])
    ),
    "yes-no elsewhere": environment(UNIT, World("yes-no", offsets=[-1.5])),
    "bounded elsewhere": environment(UNIT, World(noise=0.15, interactions=[[-0.2, 0.1]])),
    "table elsewhere": environment(UNIT, World(table=TABLE, offsets=[0.25])),
    "heavy": environment(
        Problem(["A", "B"], means=[0.7, 0.2], sigma=0.3, centre=0.5), World("heavy", offsets=[1.0])
    ),
}


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    with known(SCATTERED):
        yield


def drawn(world: Environment, pulls: int, seed: int, draws: int, squares: bool = True, by: Any = fill) -> Batch:
    """As many batches of so many pulls of the first arm, as one batch of many rows."""
    rows = np.zeros(draws, np.int64)
    batch = Batch(0, rows, np.full(draws, pulls), np.zeros(draws), np.zeros(draws * squares))
    by(batch, world, np.random.default_rng(seed), 0)
    return batch


def one_by_one(world: Environment, pulls: int, seed: int) -> tuple[Floats, Floats]:
    single = drawn(world, 1, seed, DRAWS * pulls)
    return single.sums.reshape(DRAWS, pulls).sum(axis=1), single.squares.reshape(DRAWS, pulls).sum(axis=1)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("pulls", [2, 7])
def test_together_as_one_by_one(name: str, pulls: int) -> None:
    """The sum, the squares, and what they say together: the scatter around the batch's own mean."""
    world = WORLDS[name]
    batch, (sums, squares) = drawn(world, pulls, 1, DRAWS), one_by_one(world, pulls, 2)

    def scatter(total: Floats, around: Floats) -> Floats:
        return around - (total - pulls * world.centre) ** 2 / pulls

    for ours, theirs in [
        (batch.sums, sums),
        (batch.squares, squares),
        (scatter(batch.sums, batch.squares), scatter(sums, squares)),
        (batch.sums * batch.squares, sums * squares),
    ]:
        assert stats.ks_2samp(ours.round(9), theirs.round(9)).pvalue > UNLIKELY


@pytest.mark.parametrize("name", WORLDS)
def test_one_reward_has_one_square(name: str) -> None:
    batch = drawn(WORLDS[name], 1, 3, 200)
    np.testing.assert_allclose(batch.squares, (batch.sums - WORLDS[name].centre) ** 2, rtol=1e-9, atol=1e-12)


def test_gaussian_scatter_is_chi_squared_and_independent_of_the_sum() -> None:
    """Cochran's theorem: σ²χ² with n − 1 degrees of freedom."""
    world, n = WORLDS["gaussian"], 6
    batch = drawn(world, n, 4, 20_000)
    scatter = (batch.squares - (batch.sums - n * world.centre) ** 2 / n) / world.spreads[0] ** 2
    beside = (batch.sums - n * 0.7) / (np.sqrt(n) * world.spreads[0])
    assert stats.kstest(scatter, stats.chi2(n - 1).cdf).pvalue > UNLIKELY
    assert stats.kstest(beside, stats.norm.cdf).pvalue > UNLIKELY
    for other in (beside, beside**2):
        assert stats.spearmanr(scatter, other).pvalue > UNLIKELY


@pytest.mark.parametrize("name", ["bernoulli", "bounded", "table"])
def test_squares_cost_no_random_numbers_where_they_follow_from_the_rewards(name: str) -> None:
    batch = drawn(WORLDS[name], 5, 6, 50)
    assert batch.sums.tolist() == drawn(WORLDS[name], 5, 6, 50, squares=False).sums.tolist()


def test_sums_are_drawn_as_they_always_were() -> None:
    """Without squares no random number is spent on them: nμ + √n σ z, and one binomial number."""
    random = np.random.default_rng(7)
    wanted = [5 * 0.7 + np.sqrt(5) * 0.3 * random.standard_normal() for _ in range(50)]
    assert drawn(WORLDS["gaussian"], 5, 7, 50, squares=False).sums.tolist() == wanted
    random = np.random.default_rng(7)
    assert [draw_sum(WORLDS["gaussian"], 0, 5, random) for _ in range(50)] == wanted
    random = np.random.default_rng(7)
    wanted = [float(random.binomial(5, 0.7)) for _ in range(50)]
    assert drawn(WORLDS["bernoulli"], 5, 7, 50, squares=False).sums.tolist() == wanted


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("name", WORLDS)
def test_compiled_draws_are_the_same(name: str, squares: bool) -> None:
    for pulls in (1, 2, 7):
        plain = drawn(WORLDS[name], pulls, 8, 30, squares)
        compiled = drawn(WORLDS[name], pulls, 8, 30, squares, twin(fill))
        np.testing.assert_allclose(compiled.sums, plain.sums, rtol=1e-12)
        np.testing.assert_allclose(compiled.squares, plain.squares, rtol=1e-12)


# A test that asks for squares


def far(centre: float) -> Problem:
    return Problem(["A", "B"], means=[1e9 + 0.3, 1e9], sigma=0.1, centre=centre)


def measured(problem: Problem) -> float:
    """The scatter that a server has measured, from an agent that tells 400 rewards."""
    server = Server(build("famabpe", problem, agents=1, stopping="scattered", min_batch=50))
    agent = Agent(server.original, "lab")
    agent.receive(server.receive(Join("lab", plate=100)))
    chance = np.random.default_rng(5)
    means = dict(zip(problem.arms, problem.means if problem.means is not None else (), strict=True))
    for _ in range(4):
        for trial in agent.ask(1000):
            sent = agent.tell(trial, chance.normal(means[trial.arm], 0.1))
        assert sent is not None
        assert all(len(row) == 3 for row in sent.to_json(problem.arms)["tally"].values())
        answer = server.receive(sent)
        if isinstance(answer, Stop):
            break
        agent.receive(answer)
    assert server.total.squares  # an agent that makes its own plan needs them too
    return float(np.sqrt(variance(server.state, problem.centre)))


def test_a_centre_keeps_the_scatter_of_rewards_that_are_large() -> None:
    assert measured(far(1e9)) == pytest.approx(0.1, rel=0.15)
    # Around 0 the squares of such rewards have no digit left for it.
    lost = measured(far(0.0))
    assert not 0.05 < lost < 0.2


def test_a_test_that_asks_for_squares_in_both_engines() -> None:
    """Through agents and servers, and from upload to upload: the same distribution; compiled, the same runs."""
    problem = Problem(["A", "B", "C"], means=[0.9, 0.6, 0.5], sigma=0.3, delta=0.1)
    method = build("famabpe", problem, agents=3, stopping="scattered", gamma=0.3)
    engines = {name: prepare(method, seed=3, engine=name, max_samples=10**5) for name in ("events", "rounds")}
    loop = loop_of(method, rebind)
    runs: dict[str, list[int]] = {"events": [], "rounds": []}
    for number in range(150):
        random = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(number,)))
        plain, *_ = loop(*engines["events"]._arguments, 10**5, random, np.zeros((0, 4)), np.zeros(1, np.int64))
        if number < 5:
            outcome = engines["events"].run(number)
            assert outcome._replace(breaking_index=0.0) == plain._replace(breaking_index=0.0)
        runs["events"].append(plain.samples)
        runs["rounds"].append(engines["rounds"].run(number).samples)
        assert plain.stopped
    assert stats.ks_2samp(runs["events"], runs["rounds"]).pvalue > UNLIKELY


def test_a_test_that_does_not_ask_gets_none() -> None:
    problem = Problem(["A", "B"], means=[0.9, 0.5], sigma=0.3)
    for name in ("famabpe", "sharp", "ugapec"):
        method = build(name, problem)
        server, agent = Server(method), Agent(method, "lab")
        agent.receive(server.receive(Join("lab")))
        for trial in agent.ask(100):
            sent = agent.tell(trial, 0.5)
        assert sent is not None
        assert all(len(row) == 2 for row in sent.to_json(problem.arms)["tally"].values())
        assert not agent.terms.squares
        assert not server.total.squares
