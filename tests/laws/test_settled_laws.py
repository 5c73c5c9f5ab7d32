"""There is one stop, and it is the first version's: the breaking index has fallen to epsilon."""

import math

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from bestarm import Problem, Tally
from bestarm.core.breaking import Reading, read, settled
from bestarm.methods import method as build

finite = st.floats(-1e6, 1e6)
positive = st.floats(0.0, 1e6)
values = st.lists(finite, min_size=2, max_size=5)


def near(number: float) -> st.SearchStrategy[float]:
    """A number, its neighbours, and anything."""
    up, down = math.nextafter(number, math.inf), math.nextafter(number, -math.inf)
    return st.one_of(st.sampled_from([number, up, down]), finite)


@st.composite
def readings(draw: st.DrawFn) -> tuple[Reading, float]:
    """A reading whose breaking index is about epsilon as often as not."""
    means = np.array(draw(values))
    leader = int(np.argmax(means))
    widths = np.array([draw(positive) for _ in means])
    own, scale = draw(positive), draw(st.floats(0.0, 1e3))
    with np.errstate(over="ignore"):  # evidence beyond every number is cut to a large one
        index = read(means, leader, widths, own, scale, 0.0).breaking_index
        epsilon = abs(draw(near(index)))
        return read(means, leader, widths, own, scale, epsilon), epsilon


@given(readings())
def test_settled_is_the_old_rule(made: tuple[Reading, float]) -> None:
    reading, epsilon = made
    stopped = bool(reading.breaking_index <= epsilon)
    event("settled" if stopped else "open")
    event("a tie" if reading.breaking_index == epsilon else "no tie")
    assert bool(settled(reading)) is stopped
    assert bool(reading.evidence >= 1.0) is stopped
    assert 0.0 <= reading.evidence < math.inf


@given(
    st.lists(st.integers(1, 400), min_size=3, max_size=3), st.lists(finite, min_size=3, max_size=3), st.data()
)
def test_a_verdict_stops_exactly_then(pulls: list[int], means: list[float], data: st.DataObject) -> None:
    """Epsilon is the breaking index itself, or one of its neighbours: the tightest calls that there are."""
    tally = Tally.of(pulls, [count * mean for count, mean in zip(pulls, means, strict=True)])
    plain = build("sharp", Problem(["A", "B", "C"], sigma=1.0, sites="alike"))
    index = plain.verdict(tally).breaking_index
    epsilon = max(data.draw(near(index)), 0.0)
    verdict = build("sharp", Problem(["A", "B", "C"], sigma=1.0, epsilon=epsilon, sites="alike")).verdict(tally)
    assert verdict.breaking_index == index
    assert verdict.stopped is (index <= epsilon)
    assert (verdict.evidence >= 1.0) is verdict.stopped
    assert (verdict.reason is not None) is verdict.stopped


def test_two_arms_that_are_the_same_are_settled() -> None:
    """Margin and radius 0: neither can be better than the other."""
    assert settled(read(np.zeros(2), 0, np.zeros(2), 0.0, 1.0, 0.0))
