"""About how many samples a study still needs, with the uncertainty that such a guess has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bestarm.core.tally import Tally
from bestarm.methods import Method, Verdict
from bestarm.problem.aims import last_moment
from bestarm.reward import YES_NO
from bestarm.service.storage import clock
from bestarm.service.storage.study.overview import Judged, Overview

FEW = 10  # yes, or no: with fewer nothing can be foreseen


def remaining(method: Method, samples: int, verdict: Verdict) -> dict[str, Any] | None:
    """Where about four of five studies end: between `N(e⁻ᵃ − 1)` and `N(e⁻ᵇ − 1 + w)` more samples.

    N are the samples and e the evidence so far; the exponents and w are those of the test (`growth`, `waver`).
    The paper's tests have evidence in proportion to the samples, a = b = 1 on average; those of `sharp` grow
    faster, since it looks closer at fewer arms. They were chosen so that simulated studies of many kinds end
    inside (`tests/service/view/test_remaining.py` measures how many do). None while nothing is known yet, when
    the study is done, and for a test that does not know how its evidence grows.
    """
    if verdict.reason is not None or verdict.evidence <= 0.0 or method.test.growth is None:
        return None
    few, many = method.test.growth
    e = min(verdict.evidence, 1.0)
    try:
        low, high = samples * (e**-few - 1.0), samples * (e**-many - 1.0 + method.test.waver)
    except OverflowError:
        return None
    return {"low": max(math.floor(low), 1), "high": max(math.ceil(high), 1)} if high < 2**53 else None


def expected_end(overview: Overview, now: datetime) -> dict[str, Any] | None:
    """The same with the seconds that they take, and what comes before; no `seconds` while no pace is known.

    Of yes and no it is too early to say while there are hardly any of one of them.
    The early end takes the faster of two paces, that of the last uploads and that of the whole study, and the
    late end the slower one: sites have nights, holidays and broken instruments.
    """
    samples = overview.total.samples
    found = remaining(overview.method, samples, overview.verdict)
    if found is None or (overview.study.problem.rewards == YES_NO and _rare(overview.total) < FEW):
        return None
    paces = pace(overview.history, now)
    seconds = None if paces is None else {"low": found["low"] / max(paces), "high": found["high"] / min(paces)}
    problem, before = overview.study.problem, ""
    if problem.budget is not None and samples + found["high"] > problem.budget:
        likely = "will" if samples + found["low"] > problem.budget else "may"
        before = f"The budget {likely} be used up before that."
    elif seconds is not None and problem.deadline is not None:
        left = (last_moment(problem.deadline) - now).total_seconds()
        if left < seconds["high"]:
            before = f"The deadline {'will' if left < seconds['low'] else 'may'} come before that."
    return found | {"seconds": seconds, "before": before}


def _rare(total: Tally) -> float:
    """How many outcomes there are of the rarer kind, yes or no."""
    yes = sum(total.sums)
    return min(yes, total.samples - yes)


def pace(judged: Sequence[Judged], now: datetime) -> tuple[float, float] | None:
    """Samples a second: over the last quarter of the uploads, at least four, and over all of them, up to now.

    None before the fifth upload. Of a long study only some uploads are known.
    """
    if len(judged) < 5:
        return None
    rates = []
    uploads = judged[-1].position
    for since in (uploads - max(4, uploads // 4), 1):
        first = max((one for one in judged if one.position <= since), key=lambda one: one.position)
        seconds = (now - clock.read(first.received_at)).total_seconds()
        samples = judged[-1].samples - first.samples
        if seconds <= 0.0 or samples <= 0:
            return None
        rates.append(samples / seconds)
    return rates[0], rates[1]
