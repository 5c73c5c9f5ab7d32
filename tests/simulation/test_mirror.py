"""A problem and its mirror image, in which the lowest mean is the best, are the same problem."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from toys import SCATTERED, known

from bestarm import Problem, Result, Tally, simulate
from bestarm.core.batch import Batch
from bestarm.estimation import estimate
from bestarm.lower_bound import lower_bound
from bestarm.methods import Method
from bestarm.methods import method as build
from bestarm.simulation.worlds.environment import Environment, environment, fill
from bestarm.simulation.worlds.mirror import mirrored
from bestarm.simulation.worlds.world import World
from bestarm.sweeps.cell import Cell
from bestarm.theory import bounds, sample_bound

UNLIKELY = 1e-4
NORMAL = Problem(["A", "B", "C"], means=[0.4, 0.9, 0.5], sigma=0.3, centre=0.3)
CHECKED = Problem(["A", "B", "C"], means=[0.4, 0.9, 0.5], sigma=0.3, reward_range=[0.0, 1.0])
BOUNDED = Problem(["A", "B", "C"], means=[0.2, 0.65, 0.15], reward_range=[0.1, 0.7])
YES_NO = Problem(["A", "B", "C"], means=[0.2, 0.7, 0.1], rewards="yes-no")
LINEAR = Problem(
    list("ABCD"),
    features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]],
    theta=[0.8, 0.2],
    sigma=0.2,
    delta=0.1,
)
TABLE = {"A": [0.1, 0.4, 0.3], "B": [0.9, 0.7], "C": [0.2, 0.25]}
CASES: dict[str, tuple[Problem, str, dict[str, Any]]] = {
    "normal": (NORMAL, "sharp", {}),
    "a range as a check": (CHECKED, "sharp", {}),
    "bounded": (BOUNDED, "sharp", {}),
    "yes-no": (YES_NO, "sharp", {}),
    "table": (CHECKED, "sharp", {"table": TABLE}),
    "the paper's": (NORMAL, "famabpe", {}),
    "with features": (LINEAR, "falinpe", {}),
    "squares": (NORMAL, "famabpe", {"stopping": "scattered"}),
    "alone": (NORMAL, "ugapec", {}),
    "in lockstep": (NORMAL, "sync-ugapec", {}),
    "other sites and times": (NORMAL, "sharp", {"noise": 0.25, "offsets": [0.1, -0.2], "drift": 0.1}),
    "heavy beyond a range": (CHECKED, "famabpe", {"rewards": "heavy", "offsets": [0.1, -0.2]}),
    "yes-no elsewhere": (YES_NO, "sharp", {"offsets": [0.5, -0.5], "drift": 0.5}),
    "drawn interactions": (NORMAL, "famabpe", {"interactions": 0.5}),
    "drawn interactions of yes-no": (YES_NO, "famabpe", {"interactions": 2.0, "offsets": [0.5]}),
    "drawn interactions in a range": (BOUNDED, "famabpe", {"interactions": 0.5}),
    "given interactions": (NORMAL, "famabpe", {"interactions": [[0.1, 0.2, -0.1], [0.0, 0.0, 0.3]]}),
    "lockstep with a drift": (NORMAL, "sync-ugapec", {"offsets": [0.1, -0.2], "drift": 0.2}),
}


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    with known(SCATTERED):
        yield


def image(problem: Problem) -> Problem:
    """What is seen in a mirror at the centre; of a linear problem, at 0."""
    data = problem.to_dict() | {"goal": "lowest"}
    if problem.theta is not None:
        return Problem.from_dict(data | {"theta": (-problem.theta).tolist()})
    arms = [arm | {"mean": 2 * problem.centre - arm["mean"]} for arm in data["arm"]]
    return Problem.from_dict(data | {"arm": arms})


def seen_in(problem: Problem, given: dict[str, Any]) -> dict[str, Any]:
    """What is said about a world: values change sides, what is added to them changes its sign."""
    seen = dict(given)
    if "table" in given:
        values = given["table"].items()
        seen["table"] = {arm: [2 * problem.centre - value for value in column] for arm, column in values}
    seen |= {key: (-np.array(given[key])).tolist() for key in ("offsets", "drift") if key in given}
    if isinstance(given.get("interactions"), list):
        seen["interactions"] = (-np.array(given["interactions"])).tolist()
    return seen


def same(first: Result, second: Result) -> None:
    for field in ("samples", "communications", "switches", "unsent", "returned", "leaders"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
    np.testing.assert_allclose(first.breaking_indices, second.breaking_indices, rtol=1e-9, atol=1e-12)
    assert first.wrong == second.wrong


@pytest.mark.parametrize("engine", ["events", "rounds"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_runs(name: str, engine: str) -> None:
    problem, method, given = CASES[name]
    runs: dict[str, Any] = {"agents": 3, "runs": 10, "seed": 4, "engine": engine}
    plain = simulate(problem, method, **runs, **given)
    turned = simulate(image(problem), method, **runs, **seen_in(problem, given))
    same(plain, turned)
    assert plain.arms["B" if problem is not LINEAR else "A"] > 5
    assert turned.bounds is not None
    assert plain.bounds is not None
    assert turned.bounds.lower == pytest.approx(plain.bounds.lower, rel=1e-9)


def test_bounds_and_gaps_are_the_same() -> None:
    for problem, method in ((NORMAL, "famabpe"), (LINEAR, "falinpe")):
        turned = image(problem)
        assert lower_bound(turned) == pytest.approx(lower_bound(problem), rel=1e-9)
        assert sample_bound(turned, 2, method) == pytest.approx(sample_bound(problem, 2, method), rel=1e-9)
        found, expected = bounds(turned, method, 2), bounds(problem, method, 2)
        assert found is not None
        assert expected is not None
        assert found.communications == pytest.approx(expected.communications, rel=1e-9)
        assert turned.best == problem.best
        cells = (Cell.of(one, method, {}, 2, range(3), 0) for one in (problem, turned))
        assert len({cell.gap for cell in cells}) == 1


@pytest.mark.parametrize("problem", [NORMAL, LINEAR, YES_NO], ids=["normal", "linear", "yes-no"])
def test_an_estimate_is_the_same(problem: Problem) -> None:
    """Of problems without means; around 0 and around the middle of the range."""
    data = problem.to_dict() | {
        "arm": [{k: v for k, v in arm.items() if k != "mean"} for arm in problem.to_dict()["arm"]]
    }
    unknown = Problem.from_dict({key: value for key, value in data.items() if key not in ("theta", "centre")})
    lowest = Problem.from_dict(unknown.to_dict() | {"goal": "lowest"})
    settings: dict[str, Any] = {"agents": 2, "gaps": [0.5], "runs": 10, "engine": "rounds"}
    found, expected = estimate(lowest, **settings), estimate(unknown, **settings)
    assert found.rows[0].samples.mean == expected.rows[0].samples.mean
    assert found.rows[0].lower_bound == pytest.approx(expected.rows[0].lower_bound, rel=1e-9)


WORLDS: dict[str, tuple[Problem, World]] = {
    "gaussian": (NORMAL, World("gaussian")),
    "gaussian beyond its range": (BOUNDED, World("gaussian")),
    "bernoulli": (YES_NO, World("bernoulli")),
    "bernoulli around 0.3": (NORMAL, World("bernoulli")),
    "bounded": (BOUNDED, World("bounded")),
    "table": (CHECKED, World("table", TABLE)),
    "gaussian elsewhere": (NORMAL, World(noise=[0.2, 0.3, 0.4], offsets=[0.4], drift=0.2)),
    "heavy": (NORMAL, World("heavy", offsets=[0.4], drift=0.2)),
    "yes-no elsewhere": (YES_NO, World(offsets=[1.0], drift=0.5, interactions=[[0.1, 0.3, 0.0]])),
    "yes-no elsewhere around 0.3": (NORMAL, World("yes-no", offsets=[1.0], drift=0.5)),
    "bounded elsewhere": (BOUNDED, World(noise=0.05, offsets=[0.02], drift=-0.1)),
    "table elsewhere": (CHECKED, World("table", TABLE, offsets=[0.2], drift=-0.1)),
}


@pytest.mark.filterwarnings("ignore::bestarm.errors.ProblemWarning")
@pytest.mark.parametrize("name", WORLDS)
def test_a_mirrored_world_is_the_world_with_rewards_reflected(name: str) -> None:
    """Whatever the rewards are and wherever the centre is: sums and squares have the same distribution."""
    plain, told = WORLDS[name]
    problem = Problem.from_dict(plain.to_dict() | {"goal": "lowest"})
    method = build("famabpe", problem, stopping="scattered")
    world = environment(problem, told)
    draws, pulls = 4_000, 5
    found = []
    for seed, one in enumerate((world, mirrored(world, method))):
        batch = Batch(0, np.full(draws, 1), np.full(draws, pulls), np.zeros(draws), np.zeros(draws))
        at = 94  # where the drift is at its largest
        fill(batch, one, np.random.default_rng(seed), at)
        found.append(batch)
    plainly, turned = found
    sums = method.reflect(plainly.sums, pulls)
    for first, second in (
        (sums, turned.sums),
        (plainly.squares, turned.squares),
        (sums * plainly.squares, turned.sums * turned.squares),
    ):
        assert stats.ks_2samp(first.round(9), second.round(9), method="asymp").pvalue > UNLIKELY


@pytest.mark.parametrize("method", ["falinpe", "sharp"])
def test_the_lowest_of_a_linear_problem_whose_centre_is_not_0(method: str) -> None:
    """The reflected means must still be linear in the features."""
    problem = Problem(
        list("ABC"),
        features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]],
        theta=[0.9, 0.1],
        reward_range=[0.0, 1.0],
        goal="lowest",
    )
    result = simulate(problem, method, agents=2, runs=10, engine="rounds")
    assert result.arms == {"A": 0, "B": 10, "C": 0}
    assert result.wrong == 0


def test_rules_see_what_is_below_above() -> None:
    def state_of(method: Method, sums: list[float]) -> Any:
        return method.begin(Tally.of([2, 2], sums))

    centred = build("famabpe", Problem(["A", "B"], sigma=1, centre=10, goal="lowest"))
    assert state_of(centred, [18.0, 24.0]).estimate.values.tolist() == [11.0, 8.0]
    assert (centred.setting.centre, centred.mirror) == (10.0, 10.0)
    linear = Problem(["A", "B"], sigma=1, centre=10, goal="lowest", features=[[1.0], [0.5]])
    method = build("lingape", linear)
    assert (method.setting.centre, method.mirror) == (-10.0, 0.0)
    assert build("famabpe", NORMAL).mirror is None


def test_no_part_of_a_world_is_forgotten() -> None:
    """Whoever adds one has to say what it looks like in the mirror (`simulation/worlds/mirror.py`)."""
    turned = {"levels", "low", "high", "centre", "values", "drift"}
    the_same = {"kind", "spreads", "starts", "pace", "scatter", "items", "common", "apart"}
    assert set(Environment._fields) == turned | the_same
