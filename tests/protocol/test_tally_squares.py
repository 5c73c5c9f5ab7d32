"""Sums of squares on the wire, and which of them can be true."""

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import SCATTERED, known

from bestarm import Method, Problem, ProtocolError, Server, Tally, Upload
from bestarm.methods import method as build
from bestarm.protocol.messages import check_tally, tally_from_json
from bestarm.protocol.terms import Terms

ARMS = ("A", "B")


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    with known(SCATTERED):
        yield


def asking(centre: float = 0.0) -> Method:
    with known(SCATTERED):
        return build("famabpe", Problem(list(ARMS), sigma=0.3, centre=centre), stopping="scattered")


def test_the_wire() -> None:
    assert Tally.of([2, 0], [0.5, 0.0]).to_json(ARMS) == {"A": [2, 0.5]}
    with_squares = Tally.of([2, 1], [0.5, 0.25], [0.13, 0.0625])
    assert with_squares.to_json(ARMS) == {"A": [2, 0.5, 0.13], "B": [1, 0.25, 0.0625]}
    for tally in (with_squares, Tally.of([2, 0], [0.5, 0.0])):
        assert tally_from_json(json.loads(json.dumps(tally.to_json(ARMS))), "x", ARMS) == tally


def test_squares_add() -> None:
    first, second = Tally.of([2, 0], [0.5, 0.0], [0.13, 0.0]), Tally.of([1, 1], [0.5, 0.25], [0.25, 0.0625])
    assert (first + second).to_json(ARMS) == {"A": [3, 1.0, 0.38], "B": [1, 0.25, 0.0625]}


@pytest.mark.parametrize(
    ("squares", "sentence"),
    [
        (None, "tally: the study's test asks for sums of squares."),
        (
            0.3,
            "tally: arm 'A' has pulls 3, reward sum 1.0 and squares 0.3; with that sum the squares around",
        ),
        (-1.0, "tally: arm 'A' has pulls 3, reward sum 1.0 and squares -1.0;"),
        (math.nan, "tally: arm 'A' has pulls 3, reward sum 1.0 and squares nan;"),
        (math.inf, "tally: arm 'A' has pulls 3, reward sum 1.0 and squares inf;"),
    ],
)
def test_squares_that_can_not_be(squares: float | None, sentence: str) -> None:
    """Squares of n numbers with the sum S are at least S²/n (Cauchy and Schwarz)."""
    server = Server(asking())
    tally = Tally.of([3, 0], [1.0, 0.0], None if squares is None else [squares, 0.0])
    with pytest.raises(ProtocolError) as caught:
        server.receive(Upload(server.terms.fingerprint, "lab", 1, tally))
    assert str(caught.value).startswith(sentence)
    assert server.entries == []


def test_the_least_squares_are_taken() -> None:
    server = Server(asking())
    server.receive(Upload(server.terms.fingerprint, "lab", 1, Tally.of([3, 0], [1.0, 0.0], [1 / 3, 0.0])))
    assert server.samples == 3


rewards = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60)


@given(
    rewards,
    st.sampled_from([0.0, 1.0, -3.5, 2e4, 1e9, -1e11]),
    st.sampled_from([0.0, 0.1, 1e-6]),
    st.booleans(),
)
@settings(deadline=None)
def test_what_was_really_seen_is_never_refused(
    scatter: list[float], centre: float, aside: float, constant: bool
) -> None:
    """Also rewards that are all the same, far from 0 and not quite at the centre, added one after the other."""
    terms = Terms("x", ARMS, "f", sigma=0.3, centre=centre, squares=True)
    values = [centre + aside + (scatter[0] if constant else noise) for noise in scatter]
    total = squares = 0.0
    for value in values:
        total += value
        squares += (value - centre) ** 2
    check_tally(Tally.of([len(values), 0], [total, 0.0], [squares, 0.0]), terms, ARMS)


def test_a_thousand_equal_rewards_far_from_zero() -> None:
    """Where rounding alone decides on which side of S²/n the squares lie."""
    terms = Terms("x", ARMS, "f", sigma=0.3, centre=2e7, squares=True)
    total = squares = 0.0
    for _ in range(1000):
        total += 2e7 + 0.1
        squares += (2e7 + 0.1 - 2e7) ** 2
    check_tally(Tally.of([1000, 0], [total, 0.0], [squares, 0.0]), terms, ARMS)
    with pytest.raises(ProtocolError, match="squares"):
        check_tally(Tally.of([1000, 0], [total, 0.0], [0.9 * squares, 0.0]), terms, ARMS)


def test_sums_and_squares_of_the_wire_reach_the_state() -> None:
    server = Server(asking(centre=0.5))
    batch = Tally.of([2, 1], [1.5, 0.25], [0.3125, 0.0625])
    server.receive(Upload(server.terms.fingerprint, "lab", 1, batch))
    np.testing.assert_array_equal(server.state.squares, [0.3125, 0.0625])
    assert server.total == batch
