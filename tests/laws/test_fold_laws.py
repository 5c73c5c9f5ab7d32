"""What a test keeps of its batches: the beginning is neutral, grouping and site do not matter."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import bits, everything
from toys import SCATTERED, known

from bestarm import Method, Problem, Server, Tally, Upload
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.setting import Setting
from bestarm.methods import method as build

ARMS = 4
NAMES = [f"arm-{k}" for k in range(ARMS)]
FEATURES = [[0.9, 0.0], [0.0, 0.9], [0.6, 0.6], [-0.5, 0.4]]
PLAIN = Problem(NAMES, sigma=0.3, sites="alike")
LINEAR = Problem(NAMES, sigma=0.3, features=FEATURES, sites="alike")
with known(SCATTERED):
    SQUARES = build("famabpe", PLAIN, agents=3, stopping="scattered")
METHODS = {
    "famabpe": build("famabpe", PLAIN, agents=3),
    "ugapec": build("ugapec", PLAIN),
    "pairs": build("sharp", PLAIN, agents=3),
    "falinpe": build("falinpe", LINEAR, agents=3),
    "lingape": build("lingape", LINEAR),
    "span": build("sharp", LINEAR, agents=3),
    "squares": SQUARES,
}
# Sums in quarters add without rounding, so that grouping can change no bit.
row = st.tuples(st.integers(0, 50), st.integers(-400, 400))
batches = st.lists(row, min_size=ARMS, max_size=ARMS).filter(lambda rows: any(pulls for pulls, _ in rows))
logs = st.lists(batches, min_size=1, max_size=8)


def tally_of(rows: list[tuple[int, int]], squares: bool) -> Tally:
    pulls = [count for count, _ in rows]
    sums = [total / 4 if count else 0.0 for count, total in rows]
    around = [total * total + 1.0 if count else 0.0 for count, total in rows]
    return Tally.of(pulls, sums, around if squares else None)


def folded(method: Method, tallies: list[Tally], site: int = 0) -> Any:
    state = method.begin()
    for tally in tallies:
        state = method.fold(state, tally, site)
    return state


@pytest.mark.parametrize("name", METHODS)
@given(log=logs, data=st.data())
@settings(max_examples=40, deadline=None)
def test_grouping_does_not_matter(name: str, log: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    """Neighbours in the log may be folded as one batch: the same totals, the same reading, the same plan."""
    method = METHODS[name]
    tallies = [tally_of(rows, method.test.squares) for rows in log]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(tallies)))) | {0, len(tallies)})
    groups = [sum(tallies[a + 1 : b], tallies[a]) for a, b in pairwise(cuts)]
    one_by_one, grouped = folded(method, tallies), folded(method, groups)
    total = sum(tallies[1:], tallies[0])
    assert one_by_one.pulls.tolist() == grouped.pulls.tolist() == total.pulls.tolist()
    assert one_by_one.sums.tolist() == grouped.sums.tolist() == total.reward_sums.tolist()
    assert bits(one_by_one) == bits(grouped) == bits(method.begin(total))
    assert method.judge(one_by_one) == method.judge(grouped) == method.verdict(total)
    assert method.make(one_by_one) == method.make(grouped) == method.plan(total)


@pytest.mark.parametrize("name", METHODS)
@given(log=logs)
@settings(max_examples=15, deadline=None)
def test_the_site_does_not_matter(name: str, log: list[list[tuple[int, int]]]) -> None:
    """For today's tests, which take all sites for alike."""
    method = METHODS[name]
    assert method.test.sites_alike
    tallies = [tally_of(rows, method.test.squares) for rows in log]
    states = [bits(folded(method, tallies, site)) for site in (NOBODY, 0, 7)]
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("name", METHODS)
def test_beginning_is_neutral(name: str) -> None:
    method = METHODS[name]
    assert bits(method.begin()) == bits(method.begin(Tally.empty(ARMS)))
    assert method.begin().pulls.sum() == 0
    verdict = method.judge(method.begin())
    assert (verdict.stopped, verdict.samples, verdict.evidence) == (False, 0, 0.0)
    start = tally_of([(3, 5), (1, 2), (2, -7), (4, 4)], method.test.squares)
    assert bits(method.begin(start)) == bits(method.fold(method.begin(), start, NOBODY))


@pytest.mark.parametrize("name", METHODS)
def test_every_beginning_is_a_new_one(name: str) -> None:
    """Folding changes arrays in place, so that no two studies may share them."""
    method = METHODS[name]
    fresh = bits(method.begin())
    method.fold(method.begin(), tally_of([(3, 5)] * ARMS, method.test.squares), 0)
    assert bits(method.begin()) == fresh


@pytest.mark.parametrize("name", METHODS)
@given(log=logs)
@settings(max_examples=15, deadline=None)
def test_reading_and_planning_change_nothing(name: str, log: list[list[tuple[int, int]]]) -> None:
    method = METHODS[name]
    state = folded(method, [tally_of(rows, method.test.squares) for rows in log])
    before = bits(state)
    first = method.judge(state), method.make(state), method.make(state, 7, {1})
    assert first == (method.judge(state), method.make(state), method.make(state, 7, {1}))
    assert bits(state) == before


@pytest.mark.parametrize("name", METHODS)
def test_an_upload_that_can_not_be_computed_with_leaves_no_trace(name: str) -> None:
    """Folding changes the state in place, so a fold that fails half way is undone from the log."""
    method = METHODS[name]

    def fails(state: Any, batch: Batch, setting: Setting) -> Any:
        folded = method.rules.fold(state, batch, setting)
        if batch.sums[0] == 77.0:
            raise FloatingPointError("overflow")
        return folded

    server = Server(replace(method, rules=method.rules._replace(fold=fails)))
    fingerprint, squares = method.problem.fingerprint, method.test.squares
    for sequence in (1, 2, 3):
        server.receive(
            Upload(fingerprint, "lab", sequence, tally_of([(3, sequence), (1, 2), (2, -7), (4, 4)], squares))
        )
    before = everything(server)
    with pytest.raises(FloatingPointError):
        server.receive(Upload(fingerprint, "lab", 4, tally_of([(9, 308), (1, 2), (0, 0), (0, 0)], squares)))
    assert everything(server) == before
    server.receive(Upload(fingerprint, "lab", 4, tally_of([(9, 4), (1, 2), (0, 0), (0, 0)], squares)))
    assert server.samples == 40
