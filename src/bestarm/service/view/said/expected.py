"""About how many experiments a study will take, quickly: few simulated runs, and none when the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bestarm.errors import UserError
from bestarm.methods import Method
from bestarm.problem import Problem
from bestarm.reward import BOUNDED, NORMAL, YES_NO

if TYPE_CHECKING:
    from bestarm.estimation import Expectation

GAPS = (2.0, 1.0, 0.5)  # in units of the noise, the quickest first
INSIDE = (0.8, 0.4, 0.2)  # of half of the range, where rewards have one
RUNS = 20
SECONDS = 3.0
MOST_ARMS = 200
TOO_MANY = f"an estimate here takes at most {MOST_ARMS} arms; `bestarm estimate` takes more."


class _Late(Exception):
    """The time is up."""


def expected(
    method: Method, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """For a wide, a middling and a narrow gap: how many samples most studies take, in sentences.

    A problem with means is taken as it is. What there was no time for is left out.
    """
    from bestarm.estimation import estimate  # a server that is never asked for one does not load the simulator

    problem = method.problem
    if problem.K > MOST_ARMS:
        raise UserError(TOO_MANY)
    ends = clock() + seconds

    def look(finished: int) -> None:
        if clock() > ends:
            raise _Late

    parameters: dict[str, Any] = dict(method.parameters)
    rows: list[dict[str, Any]] = []
    known = problem.means is not None
    ranged = problem.rewards != NORMAL
    gaps: tuple[float | None, ...] = (None,) if known else INSIDE if ranged else GAPS
    for gap in gaps:
        try:
            found = estimate(
                problem,
                method.name,
                method.agents,
                runs=RUNS,
                gap_over_noise=gap,
                engine="rounds",
                progress=look,
                **parameters,
            )
        except _Late:
            break
        rows.append(_row(found.rows[0], gap, problem))
    return {"runs": RUNS, "rows": rows, "late": len(rows) < len(gaps)}


def _row(row: Expectation, gap: float | None, problem: Problem) -> dict[str, Any]:
    low, high = round(row.samples.low), round(row.samples.high)
    spent = row.spending
    share = 0.0 if spent is None else 100.0 * spent.share
    decides = "" if spent is None else f" In {share:.0f} % of such studies {spent.budget:,} are enough."
    return {
        "gap": row.gap,
        "mean": row.samples.mean,
        "low": low,
        "high": high,
        "sentence": f"{_apart(gap, row.gap, problem)}: about {rough(row.samples.mean):,} experiments of all "
        f"sites together, mostly {rough(low):,} to {rough(high):,}.{decides}",
    }


def _apart(times: float | None, gap: float, problem: Problem) -> str:
    if times is None:
        return "With the means that are given"
    if problem.rewards == YES_NO:
        return f"If the best succeeds {100 * gap:.0f} percentage points more often than the others"
    if problem.sigma is not None or problem.rewards == BOUNDED:
        return f"If the best is better than the others by {gap:.3g}"
    much = {2.0: "twice as much as", 1.0: "as much as", 0.5: "half as much as"}[times]
    return f"If the best is better than the others by {much} single results scatter"


def rough(value: float) -> int:
    """Two leading digits are all that an estimate deserves.

    >>> rough(437.2), rough(8.4), rough(12345)
    (440, 8, 12000)
    """
    whole = round(value)
    unit: int = 10 ** max(len(str(abs(whole))) - 2, 0)
    return round(whole / unit) * unit
