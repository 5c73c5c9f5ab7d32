"""Sums of products, compiled: the same as numpy's."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from bestarm.core.arrays import Floats
from bestarm.simulation.compiled.compile import twin
from bestarm.simulation.compiled.einsum import KNOWN

SIZES = {"i": 3, "j": 4, "k": 5}


@pytest.mark.parametrize("subscripts", KNOWN)
def test_loops_add_what_numpy_adds(subscripts: str) -> None:
    draw = np.random.default_rng(0)
    left, right = (
        draw.random([SIZES[letter] for letter in one]) for one in subscripts.split("->")[0].split(",")
    )
    expected = np.einsum(subscripts, left, right)
    np.testing.assert_allclose(KNOWN[subscripts](subscripts, left, right), expected, rtol=1e-14)


def other_sum(left: Floats, right: Floats) -> float:
    return float(np.einsum("ij,ji->", left, right))


def test_a_sum_without_loops_is_refused() -> None:
    with pytest.raises(numba.TypingError, match="einsum"):
        twin(other_sum, kept=False)(np.eye(2), np.eye(2))
