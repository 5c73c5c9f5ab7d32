"""The methods of the field beside independent implementations, and where one is known to fail."""

from __future__ import annotations

import pytest
from plain_methods import CIRCLE, DELTA, PHASED, PLAIN, PROBLEM, SIGMA, THETA, Plain, beside

import bestarm
from bestarm.core.selection.top_two import cheapest
from bestarm.methods import METHODS, SELECTIONS

RUNS = 60


@pytest.mark.parametrize("plain", PLAIN, ids=str)
def test_samples_are_those_of_an_independent_implementation(plain: Plain) -> None:
    ours = bestarm.simulate(plain.problem, plain.label, agents=plain.agents, runs=RUNS, engine="rounds")
    found = beside(plain, ours, RUNS)
    error = abs(found.ours.mean - found.theirs) / found.apart
    assert abs(found.ours.mean - found.theirs) < 3 * error + plain.slack * found.ours.mean


def test_messages_of_fed_sel() -> None:
    """Both sites tell their winner, and both report in every round: at least four messages, each answered."""
    found = bestarm.simulate(PROBLEM, "fed-sel:steps=20", agents=2, runs=RUNS, engine="rounds")
    assert found.communications.min() >= 8
    assert not (found.communications % 4).any()


def test_looking_at_a_p_value_after_every_pull_breaks_delta() -> None:
    close = bestarm.Problem.quick([0.5, 0.49], sigma=0.3, delta=0.05)
    found = bestarm.compare(close, "peeking", runs=100, engine="rounds", max_samples=600)
    (row,) = found.rows
    assert row["broken"]
    assert not row["promised"]
    assert not bestarm.method("peeking", close).proven


@pytest.mark.parametrize("pulls", [1_000, 1_000_000])
def test_without_its_added_logarithm_eb_tc_gets_stuck(pulls: int) -> None:
    """The best arm started badly, and two others are equal: however long it takes, it is not tried again."""
    start = bestarm.Tally.of([1, pulls, pulls], [-0.6, 0.5 * pulls, 0.5 * pulls])
    for name, tried in (("eb-tc", 2), ("eb-tci", 0)):
        method = bestarm.method(name, PROBLEM)
        state = method.begin(start)
        penalty = 1.0 if name == "eb-tci" else 0.0
        assert cheapest(state, 1, penalty, method.setting) == tried
        if name == "eb-tc":
            assert all(method.make(state).arms[0] != 0 for _ in range(5))


def test_a_heuristic_promises_nothing() -> None:
    assert bestarm.method("track-and-stop", PROBLEM).proven
    assert not bestarm.method("track-and-stop", PROBLEM, threshold="heuristic").proven
    assert bestarm.method("track-and-stop", PROBLEM, threshold="heuristic", stopping="pairs").proven


def test_every_method_of_the_field_says_when_to_take_it() -> None:
    assert all(recipe.when for recipe in METHODS.values() if recipe.field)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kl-lucb", "is for yes/no outcomes"),
        ("famabpe:selection=t3c", "is for a single agent"),
        ("eb-tci:stopping=lil-ucb", "needs selection=lil-ucb"),
        ("sharp:", "a name with settings after colons"),
    ],
)
def test_what_does_not_fit_is_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(bestarm.UserError, match=sentence):
        bestarm.simulate(PROBLEM, name, runs=1, engine="rounds")


@pytest.mark.parametrize(("name", "least"), [("halving", 15), ("rejects", 5), ("even-shares", 5)])
def test_budgets_are_kept_and_one_that_is_too_small_is_a_sentence(name: str, least: int) -> None:
    problem = bestarm.Problem.quick([0.9, 0.8, 0.7, 0.6, 0.5], sigma=SIGMA)
    for budget in (least, least + 1, 2 * least + 3, 100):
        found = bestarm.simulate(problem, name, runs=5, engine="rounds", budget=budget)
        assert found.samples.max() <= budget
        assert found.unfinished == 0
    with pytest.raises(
        bestarm.UserError, match=rf"budget is {least - 1}; with 5 arms it must be at least {least}"
    ):
        bestarm.simulate(problem, name, runs=5, engine="rounds", budget=least - 1)


def test_a_fixed_budget_promises_nothing() -> None:
    close = bestarm.Problem.quick([0.5, 0.49, 0.48], sigma=SIGMA, delta=DELTA)
    found = bestarm.compare(
        close, ["halving:budget=12", "rejects:budget=12", "even-shares:budget=12"], runs=60, engine="rounds"
    )
    assert [(row["broken"], row["promised"]) for row in found.rows] == [(True, False)] * 3


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_the_phases_of_rage_end_by_the_test_of_sharp(sigma: float | None) -> None:
    arms = [f"arm-{k}" for k in range(5)]
    problem = bestarm.Problem(arms, features=CIRCLE, theta=THETA, sigma=sigma, delta=DELTA, sites="alike")
    found = bestarm.simulate(problem, "rage:stopping=span", runs=20, engine="rounds", noise=SIGMA)
    assert (found.wrong, found.unfinished) == (0, 0)
    assert found.summary().mean < bestarm.simulate(PHASED, "rage", runs=20, engine="rounds").summary().mean


def test_the_phases_of_rage_need_least_squares() -> None:
    with pytest.raises(bestarm.UserError, match="rage needs stopping=rage or span"):
        bestarm.method("rage", PHASED, stopping="lingape")


def test_fed_sel_waits_for_ever_where_a_site_has_two_best_arms() -> None:
    equal = bestarm.Problem.quick([0.9, 0.9, 0.5, 0.9], sigma=SIGMA, delta=DELTA)
    assert SELECTIONS["fed-sel"].gets_stuck
    found = bestarm.simulate(equal, "fed-sel", agents=2, runs=5, engine="rounds", max_samples=2000)
    assert found.unfinished == 5
    with pytest.raises(bestarm.UserError, match="arms of its own"):
        bestarm.simulate(PROBLEM, "fed-sel", agents=2, runs=1, offsets=[0.1, 0.0], engine="rounds")
