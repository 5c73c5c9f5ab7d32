"""Tallies add like numbers and survive JSON bit for bit."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bestarm.core.tally import Tally

ARMS = 4
# Whole-number rewards add without rounding, so the laws of addition hold exactly.
whole_tallies = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(-(2**40), 2**40)), min_size=ARMS, max_size=ARMS
).map(lambda entries: Tally.of([count for count, _ in entries], [total for _, total in entries]))
finite = st.floats(allow_nan=False, allow_infinity=False)
# An arm without pulls has no sum; an arm with pulls has any.
entries = st.one_of(st.just((0, 0.0)), st.tuples(st.integers(1, 2**53 - 1), finite))


def bits(tally: Tally) -> tuple[bytes, bytes]:
    return tally.pulls.tobytes(), tally.reward_sums.tobytes()


@given(whole_tallies, whole_tallies)
def test_merging_is_commutative(first: Tally, second: Tally) -> None:
    assert bits(first + second) == bits(second + first)


@given(whole_tallies, whole_tallies, whole_tallies)
def test_merging_is_associative(first: Tally, second: Tally, third: Tally) -> None:
    assert bits((first + second) + third) == bits(first + (second + third))


@given(whole_tallies)
def test_the_empty_tally_is_the_zero(tally: Tally) -> None:
    assert tally + Tally.empty(ARMS) == tally == Tally.empty(ARMS) + tally


@given(whole_tallies, whole_tallies)
def test_merging_adds_every_entry_and_changes_neither(first: Tally, second: Tally) -> None:
    before = bits(first), bits(second)
    merged = first + second
    for k in range(ARMS):
        assert int(merged.pulls[k]) == int(first.pulls[k]) + int(second.pulls[k])
        assert int(merged.reward_sums[k]) == int(first.reward_sums[k]) + int(second.reward_sums[k])
    assert merged.samples == first.samples + second.samples
    assert (bits(first), bits(second)) == before


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=5), entries),
        min_size=1,
        max_size=8,
        unique_by=lambda item: item[0],
    )
)
def test_json_text_keeps_every_bit(items: list[tuple[str, tuple[int, float]]]) -> None:
    names = [name for name, _ in items]
    tally = Tally.of([pulls for _, (pulls, _) in items], [total for _, (_, total) in items])
    text = json.dumps(tally.to_json(names))
    assert bits(Tally.from_json(json.loads(text), names)) == bits(tally)


@given(st.lists(entries, min_size=1, max_size=5), st.lists(entries, min_size=1, max_size=5))
def test_equal_tallies_have_equal_hashes(left: list[tuple[int, float]], right: list[tuple[int, float]]) -> None:
    first, second = (Tally.of([p for p, _ in side], [s for _, s in side]) for side in (left, right))
    same = [(p, s) for p, s in left] == [(p, s) for p, s in right]
    assert (first == second) is same
    mirrored = Tally.of(first.pulls.tolist(), [-s if s == 0 else s for s in first.reward_sums.tolist()])
    assert mirrored == first  # -0.0 equals 0.0
    assert hash(mirrored) == hash(first)


def test_a_tally_can_not_be_written_to() -> None:
    tally = Tally.of([1, 2], [0.5, 1.0])
    for array in (tally.pulls, tally.reward_sums):
        try:
            array[0] = 7
        except ValueError:
            continue
        raise AssertionError("a tally was changed in place")
    assert np.array_equal(tally.pulls, [1, 2])
