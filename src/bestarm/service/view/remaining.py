"""About how many samples a study still needs, with the uncertainty that such a guess has."""

from __future__ import annotations

import math

from bestarm.methods import Method, Verdict

WAVER = 0.1  # of the samples so far: evidence close to 1 may fall back before it gets there


def remaining(method: Method, samples: int, verdict: Verdict) -> dict[str, int] | None:
    """Where about four of five studies end: between `N(e⁻ᵃ − 1)` and `N(e⁻ᵇ − 1 + 0.1)` more samples.

    N are the samples and e the evidence so far; the exponents are those of the test (`growth`). The paper's
    tests have evidence in proportion to the samples, a = b = 1 on average; those of `sharp` grow faster, since
    it looks closer at fewer arms. They were chosen so that simulated studies of many kinds end inside
    (`tests/service/view/test_remaining.py` measures how many do). None while nothing is known yet, when the
    study is done, and for a test that does not know how its evidence grows.
    """
    if verdict.reason is not None or verdict.evidence <= 0.0 or method.test.growth is None:
        return None
    few, many = method.test.growth
    e = min(verdict.evidence, 1.0)
    try:
        low, high = samples * (e**-few - 1.0), samples * (e**-many - 1.0 + WAVER)
    except OverflowError:
        return None
    return {"low": max(math.floor(low), 1), "high": max(math.ceil(high), 1)} if high < 2**53 else None
