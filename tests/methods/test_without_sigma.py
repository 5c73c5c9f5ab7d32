"""Sigma that is not known: who refuses, who asks for squares instead, and in which words."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toys import SCATTERED, known

from bestarm import Agent, Problem, Server, Tally, Upload, UserError, simulate
from bestarm.estimation import estimate
from bestarm.lower_bound import lower_bound
from bestarm.methods import METHODS, TESTS
from bestarm.methods import method as build
from bestarm.methods.recipe import Kind
from bestarm.protocol.terms import Terms
from bestarm.service.view.said.promise import promise
from bestarm.theory import bounds, sample_bound

BARE = Problem(["A", "B", "C"], name="x")
TOLD = Problem(["A", "B", "C"], name="x", sigma=0.3)
FEATURES = Problem(["A", "B"], name="x", features=[[1.0, 0.0], [0.0, 1.0]])
EITHER = replace(SCATTERED, name="either", noise="either", squares=False)
THRIFTY = replace(
    METHODS["famabpe"],
    name="thrifty",
    defaults=lambda problem, agents: METHODS["famabpe"].defaults(problem, agents) | {"stopping": "either"},
)


@pytest.fixture
def either() -> Iterator[None]:
    with known(EITHER, THRIFTY):
        yield


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("name", ["famabpe", "falinpe"])
def test_the_papers_methods_say_what_they_need(name: str) -> None:
    problem = FEATURES if name == "falinpe" else BARE
    with pytest.raises(UserError) as caught:
        build(name, problem)
    start, end = f"{name} needs sigma, and problem 'x' has none: give sigma = …, or take ", "thrifty."
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith(end)


def test_every_test_of_the_package_says_whether_it_needs_sigma() -> None:
    told = Problem(["A", "B"], features=[[1.0, 0.0], [0.0, 1.0]], sigma=0.3)
    for name, recipe in METHODS.items():
        if TESTS[str(recipe.defaults(told, 10)["stopping"])].yes_no:
            continue
        method = build(name, told)
        assert method.test.noise in ("known", "either", "none")
        if method.test.noise == "known" and recipe.kind is not Kind.SYNCHRONOUS:
            with pytest.raises(UserError, match="needs sigma, and problem 'x' has none: give sigma = …"):
                build(name, FEATURES, stopping=method.test.name)


def test_an_exchanged_test_is_named() -> None:
    with pytest.raises(UserError, match=r"^sharp with stopping=famabpe needs sigma, and problem 'x' has none"):
        build("sharp", BARE, stopping="famabpe")


@pytest.mark.usefixtures("either")
def test_squares_are_asked_for_where_sigma_is_not_known() -> None:
    bare, told = build("thrifty", BARE), build("thrifty", TOLD)
    assert (bare.squares, bare.setting.sigma, Terms.of(bare).squares) == (True, 0.0, True)
    assert (told.squares, told.setting.sigma, Terms.of(told).squares) == (False, 0.3, False)
    bounded = build("thrifty", Problem(["A", "B"], reward_range=[0, 1]))
    assert (bounded.squares, bounded.setting.sigma) == (False, 0.5)
    terms = Terms.of(bare)
    assert terms.sigma is None
    assert Terms.from_json(terms.to_json()) == terms


@pytest.mark.usefixtures("either")
def test_a_study_without_sigma_goes_to_its_end() -> None:
    method = build("thrifty", BARE)
    server, agent = Server(method), Agent(method, "lab")
    agent.receive(server.download())
    rewards = {"A": [1.0, 1.25], "B": [5.0, 5.25], "C": [0.0, 0.25]}
    for turn in range(5000):
        if agent.finished:
            break
        (trial,) = agent.ask()
        upload = agent.tell(trial, rewards[trial.arm][turn % 2])
        if upload is not None:
            assert upload.tally.squares
            agent.receive(server.receive(upload))
    assert server.stopped
    assert server.verdict.leader == "B"
    assert "sub-Gaussian scale" not in promise(method)
    upload = Upload(BARE.fingerprint, "other", 1, Tally.of([1, 1, 1], [0.0, 0.0, 0.0]))
    with pytest.raises(UserError, match="the study's test asks for sums of squares"):
        server.receive(upload)


@pytest.mark.usefixtures("either")
def test_what_needs_to_know_the_scatter_says_so() -> None:
    problem = Problem.quick([0.9, 0.5])
    assert problem.sigma is None
    assert bounds(problem, "famabpe", 2) is None
    for function in (lower_bound, lambda one: sample_bound(one, 2, "famabpe")):
        with pytest.raises(
            UserError, match=r"^problem 'problem' has no sigma; the (lower bound|bounds) needs? it"
        ):
            function(problem)
    with pytest.raises(UserError, match=r"^problem 'problem' has no sigma, and a simulation needs to know how"):
        simulate(problem, "thrifty", engine="rounds", runs=1)
    with pytest.raises(UserError, match=r"^problem 'x' has no sigma, and an estimate needs to know how much"):
        estimate(BARE, "thrifty")


@pytest.mark.usefixtures("either")
def test_other_rewards_are_simulated_without_sigma() -> None:
    problem = Problem.quick([0.9, 0.1])
    result = simulate(problem, "thrifty", agents=2, runs=3, engine="rounds", rewards="bernoulli")
    assert result.arms == {"arm-1": 3, "arm-2": 0}
    assert result.bounds is None
    assert result.to_json()["bounds"] == {"samples": None, "communications": None, "lower": None}


@pytest.mark.parametrize("name", ["ugapec", "sync-ugapec"])
def test_single_pulls_do_not_measure_sigma(name: str) -> None:
    problem = Problem(["A", "B"], sites="alike")
    with pytest.raises(UserError, match=r"adds up single pulls, of which stopping=pairs can't measure sigma"):
        build(name, problem, 2, stopping="pairs")
