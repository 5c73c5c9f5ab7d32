"""What a site must know of its study: the arms' names and which rewards can be true. No mathematics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bestarm.reward import HIGHEST, NORMAL, Limits, aim_in_words, check_reward

if TYPE_CHECKING:
    from bestarm.methods.composed import Method


@dataclass(frozen=True, slots=True)
class Terms:
    """The part of a problem and of its method that a site works with.

    `squares` says whether the test asks for sums of (reward − centre)²; `bets` brings a difference of rewards
    to [−1, 1], better above 0, and is 0 if nobody asks for bets; `pairs` is ±1, a difference on an item times
    it being better above 0, and 0 if nobody asks for pairs. With `items` every item is tried with all arms of a
    plan. `features` are for worksheets only. `goal`, `unit` and the arms' `descriptions` are for whoever reads.

    >>> terms = Terms("ligands", ("A", "B"), "18566d70caa08ade", sigma=0.3)
    >>> Terms.from_json(terms.to_json()) == terms
    True
    """

    name: str
    arms: tuple[str, ...]
    fingerprint: str
    sigma: float | None
    reward_range: Limits | None = None
    centre: float = 0.0
    squares: bool = False
    features: tuple[tuple[float, ...], ...] | None = None
    rewards: str = NORMAL
    bets: float = 0.0
    pairs: float = 0.0
    items: bool = False
    goal: str = HIGHEST
    unit: str | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, method: Method) -> Terms:
        """Those of a method on its problem."""
        problem = method.problem
        features = None if problem.features is None else tuple(map(tuple, problem.features.tolist()))
        return cls(
            problem.name,
            problem.arms,
            problem.fingerprint,
            problem.sigma,
            problem.reward_range,
            problem.centre,
            method.squares,
            features,
            problem.rewards,
            method.bets,
            method.pairs,
            problem.items,
            problem.goal,
            problem.unit,
            {arm: text for arm, text in zip(problem.arms, problem.descriptions, strict=False) if text},
        )

    def check_reward(self, reward: object) -> float:
        """The reward as a float, or a sentence that says why it is none."""
        return check_reward(reward, self.reward_range, self.sigma, self.rewards)

    @property
    def aim(self) -> str:
        """Which rewards are wanted, in words."""
        return aim_in_words(self.goal, self.unit)

    def renamed(self, arms: tuple[str, ...]) -> Terms:
        """The same with other arms, after some came or went."""
        return replace(self, arms=arms)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Terms:
        """The inverse of `to_json`; a field that is missing or has another shape is a KeyError or TypeError."""
        limits, features, sigma = value["reward_range"], value["features"], value["sigma"]
        return cls(
            str(value["name"]),
            tuple(str(arm) for arm in value["arms"]),
            str(value["fingerprint"]),
            None if sigma is None else float(sigma),
            None if limits is None else (float(limits[0]), float(limits[1])),
            float(value["centre"]),
            bool(value["squares"]),
            None if features is None else tuple(tuple(float(x) for x in row) for row in features),
            str(value["rewards"]),
            float(value.get("bets", 0.0)),
            float(value.get("pairs", 0.0)),
            bool(value.get("items", False)),
            str(value.get("goal", HIGHEST)),
            None if value.get("unit") is None else str(value["unit"]),
            {str(arm): str(text) for arm, text in dict(value.get("descriptions", {})).items()},
        )
