"""What every registered stopping test keeps to."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm.core.batch import NOBODY
from bestarm.core.breaking import Reading, settled
from bestarm.core.rules import Test
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning
from bestarm.methods import METHODS, TESTS, Method
from bestarm.methods import method as build
from bestarm.methods.composed import batch_of
from bestarm.problem import Problem
from bestarm.simulation.api import prepare
from bestarm.testing.demand import close, demand, demand_rate, same_bits
from bestarm.testing.worlds import (
    CLOSE,
    CLOSE_LINEAR,
    CLOSE_YES_NO,
    LINEAR,
    TABULAR,
    YES_OR_NO,
    batches,
    seen,
)

CLOSE_RUNS = 4000
CLOSE_SAMPLES = 400
FEW_RUNS, FEW_SAMPLES = 300, 100  # of a single agent, whose loop runs as it stands
RADII_RUNS = 300
RADII_BATCHES = 12


def check_test(name: str, compiled: bool = True) -> None:
    """Every law for stopping tests; without `compiled` those that need no compiling.

    >>> check_test("ugapec")
    """
    demand(name in TESTS, f"{name} is no registered test")
    for law in TEST_LAWS:
        if compiled or law is not compiled_it_says_the_same:
            law(TESTS[name], f"the test {name}")


def _method(test: Test, tabular: Problem = TABULAR, linear: Problem = LINEAR, agents: int = 2) -> Method:
    """A method that stops by this test; what it pulls does not matter for the test's promise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        if home_of(test) is not None:
            return _of_the_field(test, linear if test.model.linear else tabular)
        if test.model.linear:
            return build("sharp", linear, agents=agents, stopping=test.name)
        if test.inside_batches:
            plans = dict(zip(("selection", "trigger"), test.goes_with, strict=True))
            problem = Problem.from_dict(_fitting(test, tabular).to_dict() | {"items": test.pairs})
            return build("sharp", problem, agents=agents, stopping=test.name, **plans)
        return build("famabpe", tabular, agents=agents, stopping=test.name)  # its loop is compiled in no time


def home_of(test: Test) -> str | None:
    """The method that goes by turns whose own test it is, if there is one."""
    for name, recipe in METHODS.items():
        if recipe.field:
            for problem in (TABULAR, YES_OR_NO):
                if recipe.defaults(problem, 1)["stopping"] == test.name:
                    return name
    return None


def _fitting(test: Test, tabular: Problem) -> Problem:
    """The problem, or one like it with yes/no rewards where the test is not for all numbers."""
    if not (test.yes_no or test.in_range):
        return tabular
    problem = CLOSE_YES_NO if tabular is CLOSE else YES_OR_NO
    return Problem.from_dict(problem.to_dict() | {"epsilon": tabular.epsilon})


def _of_the_field(test: Test, tabular: Problem) -> Method:
    """A single agent that stops by this test, and pulls all arms in turn where the test's proof allows it."""
    problem = _fitting(test, tabular)
    home = home_of(test) if test.only_with else "uniform"
    return build(home or "uniform", problem, agents=1, stopping=test.name)


def _with(method: Method, **changes: Any) -> Method:
    """The same method with other numbers in its setting."""
    return replace(method, setting=method.setting._replace(**changes))


def _states(method: Method, seed: int = 0, number: int = 6) -> Iterator[tuple[Any, Tally]]:
    """A state after each of some batches, the first of which has every arm, and the total."""
    state, total = method.begin(), Tally.empty(method.problem.K)
    for place, tally in enumerate(batches(method, number, seed)):
        state, total = method.fold(state, tally, place % 3), total + tally
        yield state, total


def record_is_complete(test: Test, who: str) -> None:
    """What others read off a record is there."""
    demand(test.help, f"{who} has no help")
    demand(all(parameter.help for parameter in test.parameters), f"{who} has a parameter without help")
    low, high = test.growth or (1.0, 1.0)
    demand(0 < low <= high, f"{who}: its growth is {test.growth}; it must be two exponents in order")


def beginning_is_neutral(test: Test, who: str) -> None:
    """It begins with no pulls, each time anew, and says nothing then."""
    method = _method(test)
    first = method.begin()
    demand(isinstance(first, tuple), f"{who}: its state must be a named tuple, and is a {type(first).__name__}")
    demand(not first.pulls.any(), f"{who}: it begins with pulls")
    demand(not settled(method.read(first)), f"{who}: it is settled before the first pull")
    method.fold(method.begin(), next(batches(method, 1, 3)), 0)
    demand(same_bits(method.begin(), first), f"{who}: a study leaves something behind for the next one")


def batches_are_folded(test: Test, who: str) -> None:
    """Nothing of a batch is left out: the pulls, the samples and the estimates are those of all batches."""
    method = _method(test)
    for state, total in _states(method):
        demand(np.array_equal(state.pulls, total.pulls), f"{who}: its state has not the pulls that were folded")
        demand(state.estimate.samples == total.samples, f"{who}: its estimate has another number of samples")
        demand(state.estimate.values.shape == (method.problem.K,), f"{who}: it must have a value for every arm")
    shifted = method.begin()
    for tally in batches(method, 6, 0):
        rows = {arm: [row[0], row[1] + row[0] * (arm == 0), *row[2:]] for arm, row in tally.rows.items()}
        shifted = method.fold(shifted, Tally.from_rows(rows, tally.size), 0)
    demand(
        not close(shifted.estimate.values, state.estimate.values),
        f"{who}: its estimates do not follow the rewards",
    )


def neighbours_may_be_one_batch(test: Test, who: str) -> None:
    """Two batches of one site in a row are as good as one with both; where sites are alike, of any sites."""
    method = _method(test)
    for seed in range(5):
        tallies = list(batches(method, 6, seed))
        single, paired = method.begin(), method.begin()
        for number, tally in enumerate(tallies):
            single = method.fold(single, tally, 0)
            if number % 2:
                paired = method.fold(paired, tallies[number - 1] + tally, 0)
        if test.sites_alike:
            other = method.begin()
            for number, tally in enumerate(tallies):
                other = method.fold(other, tally, number % 3)
            demand(close(other, single), f"{who} says that sites are alike, and the site makes a difference")
            demand(
                test.by_phase or close(method.read(paired), method.read(single)),
                f"{who}: batches and their sum read differently",
            )


def reading_changes_nothing(test: Test, who: str) -> None:
    """A state can be read as often as one likes."""
    method = _method(test)
    for state, _ in _states(method):
        before = _copied(state)
        first = method.read(state)
        demand(same_bits(method.read(state), first), f"{who}: read again, the same state says something else")
        demand(same_bits(state, before), f"{who}: reading changes the state")


def readings_have_their_form(test: Test, who: str) -> None:
    """Two different arms, and evidence that is 1 or more exactly when it is settled."""
    for epsilon in (0.0,) if test.pairs else (0.0, 0.05, 0.4):  # with items there is none
        tabular, linear = (
            Problem.from_dict(problem.to_dict() | {"epsilon": epsilon}) for problem in (TABULAR, LINEAR)
        )
        method = _method(test, tabular, linear)
        for seed in range(10):
            for state, _ in _states(method, seed):
                reading = method.read(state)
                arms = range(method.problem.K)
                demand(reading.leader in arms and reading.challenger in arms, f"{who}: it names no arm")
                demand(reading.leader != reading.challenger, f"{who}: leader and challenger are the same arm")
                demand(0.0 <= reading.evidence < np.inf, f"{who}: its evidence is {reading.evidence}")
                if np.isfinite(reading.breaking_index):
                    stopped = reading.breaking_index <= epsilon
                    demand(
                        bool(stopped) is bool(settled(reading)), f"{who}: evidence and breaking index disagree"
                    )


def more_arms_cost_evidence(test: Test, who: str) -> None:
    """A union over more arms never makes it surer."""
    method = _method(test)
    dearer = _with(method, counted=method.setting.counted + 5)
    for (state, _), (same, _) in zip(_states(method), _states(dearer), strict=True):
        more, usual = dearer.read(same).evidence, method.read(state).evidence
        demand(more <= usual, f"{who}: with more arms to pay for it is surer")


def a_smaller_delta_costs_evidence(test: Test, who: str) -> None:
    """Who wants to be surer waits longer: δ is a part of the threshold, if it is not one of the selection."""
    if test.delta_in_selection:
        return
    method = _method(test)
    stricter = _with(method, delta=method.setting.delta / 100)
    told = [
        (stricter.read(same).evidence, method.read(state).evidence)
        for seed in range(5)
        for (state, _), (same, _) in zip(_states(method, seed, 20), _states(stricter, seed, 20), strict=True)
    ]
    demand(all(strict <= usual for strict, usual in told), f"{who}: with a smaller delta it is surer")
    if test.proven and test.growth is not None:  # else δ is in its selection, or nowhere
        demand(any(strict < usual for strict, usual in told), f"{who}: delta makes no difference")


def compiled_it_says_the_same(test: Test, who: str) -> None:
    """The compiled twins of its functions give the same numbers."""
    from bestarm.simulation.compiled.compile import twin

    method = _method(test)
    setting = method.setting
    rules = test.model.begin, test.model.fold, test.read
    own = all(rule.__module__.startswith("bestarm.") for rule in rules)
    begin, fold, read = (twin(rule, own) for rule in rules)
    state, compiled = method.begin(), begin(setting)
    for number, tally in enumerate(batches(method, 12, 5)):
        state = method.fold(state, tally, number % 3)
        compiled = fold(compiled, batch_of(tally, number % 3), setting)
        demand(close(tuple(compiled), tuple(state)), f"{who}: compiled, its state is another one")
        reading, twins = method.read(state), Reading(*read(compiled, setting))
        demand(twins[:2] == reading[:2], f"{who}: compiled, it names other arms")
        demand(close(twins[2:], reading[2:]), f"{who}: compiled, it has other evidence")


def a_close_call_is_rarely_wrong(test: Test, who: str) -> None:
    """Two arms that are all but equal: a wrong answer comes in at most a share δ of the runs."""
    if not test.proven:
        return
    method = _method(test, CLOSE, CLOSE_LINEAR)
    kind, runs, most = "events", CLOSE_RUNS, CLOSE_SAMPLES
    if method.by_turns:
        kind, runs, most = "rounds", FEW_RUNS, FEW_SAMPLES
    engine = prepare(method, seed=2, engine=kind, max_samples=most)
    outcomes = [engine.run(number) for number in range(runs)]
    errors = sum(bool(outcome.stopped) and outcome.arm != method.problem.best for outcome in outcomes)
    demand_rate(errors, runs, method.problem.delta, f"{who} is wrong too often")


def intervals_hold(test: Test, who: str) -> None:
    """All intervals hold together, at every batch, in all but a share δ of the studies."""
    if test.radii is None:
        return
    method = _method(test)
    means = method.problem.means
    assert means is not None
    missed, chance = 0, random.Random(9)
    for _ in range(RADII_RUNS):
        state, held = method.begin(seen(method, [1] * method.problem.K, chance)), True
        for number in range(RADII_BATCHES):
            pulls = [0] * method.problem.K
            pulls[chance.randrange(len(pulls))] = 2**number // 8 + 1
            state = method.fold(state, seen(method, pulls, chance), NOBODY)
            radii = test.radii(state, method.setting)
            demand(radii.shape == means.shape, f"{who}: it must have a radius for every arm")
            demand((radii > 0).all() and np.isfinite(radii).all(), f"{who}: its radii are {radii.tolist()}")
            held = held and bool((np.abs(state.estimate.values - means) <= radii).all())
        missed += not held
    demand_rate(missed, RADII_RUNS, method.problem.delta, f"{who}: its intervals miss the truth too often")


def squares_only_where_asked(test: Test, who: str) -> None:
    """A test that asks for squares makes use of them, and one that does not gets none."""
    if not test.squares:
        return
    method = _method(test)
    changed = []
    for factor in (1.0, 2.0):
        state = method.begin()
        for tally in batches(method, 4, 1):
            rows = {arm: [*row[:2], factor * row[2]] for arm, row in tally.rows.items()}
            state = method.fold(state, Tally.from_rows(rows, tally.size), 0)
        changed.append(method.read(state).evidence)
    demand(changed[0] != changed[1], f"{who} asks for squares, and they make no difference")


def _copied(state: Any) -> Any:
    if isinstance(state, np.ndarray):
        return state.copy()
    return type(state)(*map(_copied, state)) if isinstance(state, tuple) else state


Law = Callable[[Test, str], None]
TEST_LAWS: tuple[Law, ...] = (
    record_is_complete,
    beginning_is_neutral,
    batches_are_folded,
    neighbours_may_be_one_batch,
    reading_changes_nothing,
    readings_have_their_form,
    more_arms_cost_evidence,
    a_smaller_delta_costs_evidence,
    squares_only_where_asked,
    intervals_hold,
    compiled_it_says_the_same,
    a_close_call_is_rarely_wrong,
)
