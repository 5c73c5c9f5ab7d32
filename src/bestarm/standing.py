"""Where every arm of a study stands: what speaks against it, and what can be said now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bestarm.core.arrays import Floats
from bestarm.core.scatter import SHARE
from bestarm.intervals import intervals
from bestarm.methods.composed import Method
from bestarm.pictures import standing_html
from bestarm.tables import to_pandas

FEW = 10  # pulls an arm, on average, among which rewards may all be the same by chance
MOST_NAMED = 8  # arms in a sentence
MORE = "more can't be said of it yet"
STILL = (
    "the rewards of an arm were always the same, and it takes some that differ to know how far they scatter; "
    "if they never do, nothing needs to be tried again"
)


@dataclass(frozen=True, slots=True)
class ArmStanding:
    """An arm: its pulls, its estimate, and the odds against it; it is ruled out while they are high enough.

    `estimate` is None before the first pull, `odds` where the study's test does not look at each arm by itself.
    """

    arm: str
    pulls: int
    estimate: float | None
    odds: float | None
    ruled_out: bool
    unit: str = "pulls"  # or items, where every arm is tried once on each

    def __str__(self) -> str:
        """What speaks against it.

        >>> print(ArmStanding("A", 12, 0.5, 12.3, False))
        A: 12 to 1 against
        """
        return f"{self.arm}: {self.words}"

    @property
    def words(self) -> str:
        """What speaks against it, without its name; its pulls where there are no odds."""
        return self.against or f"{self.pulls:,} {self.unit}"

    @property
    def against(self) -> str:
        """What speaks against it, where there are odds; else nothing."""
        if self.odds is None:
            return ""
        if not self.ruled_out:
            return f"{odds_in_words(self.odds)} against"
        return f"ruled out after {self.pulls:,} items" if self.unit == "items" else "ruled out"


@dataclass(frozen=True, slots=True)
class Standing:
    """Every arm, who leads, and `error`: the leader is the best, except with probability at most this.

    Odds of `needed` to 1 rule an arm out. `error` is 1 where nothing can be said yet, and None where the
    study's test has no such number. With `epsilon` above 0 it is about being the best or within epsilon of it,
    and an arm that is ruled out is no better than the leader by more than that. `scatters` is False where
    rewards of an arm should have differed by now, and never did.
    """

    arms: tuple[ArmStanding, ...]
    leader: str
    error: float | None
    needed: float
    epsilon: float = 0.0
    scatters: bool = True

    def __str__(self) -> str:
        """What can be said now, in a sentence."""
        if not any(one.pulls for one in self.arms):
            return "Nothing was measured yet."
        if self.error is None or self.error >= 1.0:
            return f"{self.leader} leads; {MORE if self.scatters else STILL}."
        near = f" or within {self.epsilon:g} of it" if self.epsilon > 0.0 else ""
        return f"{self.leader} is the best{near}, except with probability at most {self.error:.2g}."

    @property
    def ruled_out(self) -> list[str]:
        """The arms that are ruled out."""
        return [one.arm for one in self.arms if one.ruled_out]

    @property
    def summary(self) -> str:
        """What can be said now, and which arms are ruled out."""
        gone = self.ruled_out
        if not gone or len(gone) == len(self.arms) - 1:
            return str(self)
        return f"{self} Ruled out: {few(gone)}."

    def to_pandas(self) -> Any:
        """The arms as a pandas data frame."""
        return to_pandas(self.to_json()["arms"])

    def _repr_html_(self) -> str:
        return standing_html(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "leader": self.leader,
            "error": self.error,
            "needed": self.needed,
            "line": f"{odds_in_words(self.needed)} rules out",
            "arms": [
                {
                    "arm": one.arm,
                    "pulls": one.pulls,
                    "estimate": one.estimate,
                    "odds": one.odds,
                    "ruled_out": one.ruled_out,
                    "words": one.words,
                }
                for one in self.arms
            ],
            "sentence": str(self),
        }


def few(names: list[str]) -> str:
    """Names in a sentence, the first of them by name.

    >>> few(list("AB")), few(list("ABCDEFGHIJ"))
    ('A, B', 'A, B, C, D, E, F, G, H and 2 more')
    """
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def standing(method: Method, state: Any, rewards: Floats | None = None) -> Standing:
    """What a method's state says about every arm; with the sums of all `rewards`, on their level.

    With odds W_k against each arm, the leader is the best except with probability at most max 1/W_k over the
    others: P(wrong and this number ≤ α) ≤ α for every α (Ville). Where sigma is measured, δ/20 is added for
    its bound; so is the share of δ that a test sets `aside`, its odds being the rest of W_k.

    >>> import bestarm
    >>> from bestarm.core.tally import Tally
    >>> method = bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=0.3, sites="differ"), agents=2)
    >>> state = method.begin(Tally.of([10, 10], [9.0, 5.0]))
    >>> print(standing(method, method.fold(state, Tally.of([10, 10], [8.0, 6.0]), 0)))
    A is the best, except with probability at most 0.53.
    """
    setting, names = method.setting, method.problem.arms
    measured, needed, leader, logs = _against(method, state)
    gone = _ruled_out(needed, leader, logs)
    means = [interval.mean for interval in intervals(method, state, rewards)]
    rows = tuple(
        ArmStanding(
            arm,
            pulls,
            mean,
            None if logs is None else _odds(logs[k]),
            k in gone,
            "items" if method.problem.items else "pulls",
        )
        for k, (arm, pulls, mean) in enumerate(zip(names, state.pulls.tolist(), means, strict=True))
    )
    error = None
    if logs is not None:
        aside = method.test.aside
        least = min(logs[k] for k in range(len(logs)) if k != leader)
        apart = (measured + (1.0 - measured) * aside) * setting.delta
        error = 1.0 if least <= 0.0 else min((1.0 - aside) * math.exp(-min(least, 700.0)) + apart, 1.0)
    either = method.test.noise == "either" and setting.sigma == 0.0
    still = either and state.residual == 0.0 and state.pulls.sum() >= FEW * len(rows)
    return Standing(rows, names[leader], error, needed, setting.epsilon, not still)


def ruled_out(method: Method, state: Any) -> list[str]:
    """The arms that are ruled out, without all the rest of a standing."""
    _, needed, leader, logs = _against(method, state)
    return [method.problem.arms[k] for k in sorted(_ruled_out(needed, leader, logs))]


def _against(method: Method, state: Any) -> tuple[float, float, int, list[float] | None]:
    """The share of δ for a measured sigma, the odds that rule out, the leader, and log odds of all arms."""
    setting, test = method.setting, method.test
    measured = SHARE if test.noise == "own" or (test.noise == "either" and setting.sigma == 0.0) else 0.0
    needed = 1.0 / ((1.0 - measured) * setting.delta)
    logs = None if test.odds is None else test.odds(state, setting).tolist()
    return measured, needed, method.read(state).leader, logs


def _ruled_out(needed: float, leader: int, logs: list[float] | None) -> set[int]:
    line = math.log(needed)
    return {k for k, log in enumerate(logs or ()) if k != leader and log >= line}


def _odds(log: float) -> float:
    """Odds that JSON can carry; below 1 to 1 nothing speaks against an arm."""
    return math.exp(min(log, 700.0))


def odds_in_words(odds: float) -> str:
    """Odds as a person says them.

    >>> odds_in_words(0.4), odds_in_words(3.26), odds_in_words(12.3), odds_in_words(2e6)
    ('1 to 1', '3.3 to 1', '12 to 1', 'over a million to 1')
    """
    if odds >= 1e6:
        return "over a million to 1"
    return f"{max(odds, 1.0):,.2g} to 1" if odds < 10 else f"{odds:,.0f} to 1"
