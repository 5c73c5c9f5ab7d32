"""What a budget is likely to buy: how often it decides, and what can be said where it does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bestarm.methods import Method
from bestarm.simulation.api import prepare
from bestarm.simulation.worlds.world import World
from bestarm.standing import standing

NORMAL_95 = 1.959964  # the 97.5 % quantile of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Spending:
    """So many of the runs were `decided` with the budget; the others had `ruled_out` arms out on average.

    `ruled_out` is None where no run was undecided, or where the test does not look at each arm by itself. A
    batch that does not fit into what is left counts for nothing, whereas a server cuts it short: so the numbers
    are a little too low.
    """

    budget: int
    runs: int
    decided: int
    ruled_out: float | None
    others: int  # arms that are not the best

    @property
    def share(self) -> float:
        """How likely the budget is to decide."""
        return self.decided / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Where that probability lies, at 95 % (Wilson).

        >>> [round(end, 2) for end in Spending(200, 100, 40, 1.5, 2).interval]
        [0.31, 0.5]
        """
        n, p, more = self.runs, self.share, NORMAL_95**2 / self.runs
        middle, reach = p + more / 2, NORMAL_95 * math.sqrt(p * (1 - p) / n + more / (4 * n))
        return max((middle - reach) / (1 + more), 0.0), min((middle + reach) / (1 + more), 1.0)

    def __str__(self) -> str:
        """Both in a sentence.

        >>> print(Spending(200, 100, 40, 1.5, 2))
        A budget of 200 samples decides 40 % of such studies (95 %: 31–50 %). In the others 1.5 of the 2 worse \
arms are ruled out on average.
        """
        low, high = (round(100 * end) for end in self.interval)
        said = f"A budget of {self.budget:,} samples decides {100 * self.share:.0f} % of such studies"
        said += f" (95 %: {low}–{high} %)"
        if self.ruled_out is not None:
            arms = f"{self.ruled_out:.1f} of the {self.others} worse arms"
            said += f". In the others {arms} are ruled out on average"
        return f"{said}."

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "budget": self.budget,
            "runs": self.runs,
            "decided": self.decided,
            "share": self.share,
            "interval": list(self.interval),
            "ruled_out": self.ruled_out,
        }


def spend(methods: Sequence[Method], shares: Sequence[int], budget: int, seed: int, world: World) -> Spending:
    """What a budget buys in so many runs of each of some methods, which have the same arms."""
    decided, out = 0, []
    for method, share in zip(methods, shares, strict=True):
        engine = prepare(method, seed, "events", world, None, budget)
        for number in range(share):
            outcome, state = engine.ending(number)
            if outcome.stopped and outcome.samples - outcome.unsent <= budget:
                decided += 1
            elif method.test.odds is not None:
                out.append(len(standing(method, state).ruled_out))
    others = len(methods[0].problem.arms) - 1
    return Spending(budget, sum(shares), decided, sum(out) / len(out) if out else None, others)
