"""How a suite says no."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestarm.core.arrays import Floats

UNLIKELY = 1e-5  # a law that holds is called broken less often than this; the seeds are fixed


def demand(holds: object, sentence: str) -> None:
    """An AssertionError with this sentence, unless it holds.

    >>> demand(1 + 1 == 3, "sums add up")
    Traceback (most recent call last):
    AssertionError: sums add up
    """
    if not holds:
        raise AssertionError(sentence)


def demand_rate(wrong: int, runs: int, most: float, sentence: str) -> None:
    """A rate of errors that can be at most `most`, given how many of the runs were wrong."""
    from scipy.stats import binom

    likely = float(binom.sf(wrong - 1, runs, most))
    demand(likely > UNLIKELY, f"{sentence}: {wrong} of {runs} runs, where at most {most:g} of them may be")


def same_bits(left: Any, right: Any) -> bool:
    """Whether two states are the same down to the last bit."""
    if isinstance(left, tuple):
        return type(left) is type(right) and all(map(same_bits, left, right))
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()


def close(left: Any, right: Any, relative: float = 1e-9) -> bool:
    """Whether two states are the same up to rounding."""
    if isinstance(left, tuple):
        return len(left) == len(right) and all(close(a, b, relative) for a, b in zip(left, right, strict=True))
    first: Floats = np.asarray(left, dtype=np.float64)
    second: Floats = np.asarray(right, dtype=np.float64)
    return first.shape == second.shape and np.allclose(first, second, relative, 1e-12, equal_nan=True)
