"""What is looked for: the arms, what is known about them, and how sure the answer must be."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bestarm.core.arrays import Floats
from bestarm.errors import UserError
from bestarm.fingerprint import fingerprint_of
from bestarm.problem.aims import (
    DIFFER,
    GOALS,
    SITES,
    check_budget,
    check_control,
    check_deadline,
    check_descriptions,
    check_items,
    check_unit,
    last_moment,
)
from bestarm.problem.checks import (
    LEAST_DELTA,
    Array,
    check_arms,
    check_inside,
    check_lengths,
    check_name,
    check_vector,
    check_word,
    linear_means,
    longest_row,
    warn_of_twins,
)
from bestarm.problem.file import arm_columns, join_arms, naming, parse_toml, read_text
from bestarm.problem.noise import check_noise
from bestarm.problem.visible import check_visible
from bestarm.reward import (
    HIGHEST,
    NORMAL,
    ROUNDING,
    YES_NO,
    aim_in_words,
    check_distance,
    check_number,
    check_reward,
    check_size,
    implied_rewards,
    middle_of,
    reflected,
    show,
)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Problem:
    """The arms, what is known about them, and the guarantee that is asked for. The names of the arms will do.

    The arm that is returned is within `epsilon` of the best with probability at least 1 − `delta`. In a linear
    problem the mean of arm k is x_k'θ, with x_k its features. All input is checked here, once, and then never
    changes.

    Parameters
    ----------
    arms: the names, at least two, all different.
    rewards: `normal` (noise that is about normal), `yes-no` (0 or 1) or `bounded` (in the `reward_range`). By
        default bounded if there is a range and no sigma, else normal.
    sigma: how much a normal reward scatters around its mean (its sub-Gaussian scale), if that is known for
        sure; None says that it has to be measured. For the other kinds it follows from the range: half its
        width (Hoeffding's lemma).
    reward_range: (low, high), where every reward lies; one outside is refused as a typing mistake.
    sites: `differ`, or `alike` if an arm's mean is the same at every site and all the time.
    goal: `highest` or `lowest`: which mean is the best.
    delta: the probability of a wrong answer, above 0 and below 1.
    epsilon: how far from the best the answer may be, at least 0, in units of the reward.
    unit: what a reward is measured in, such as "%" or "mg/l"; it is shown beside estimates.
    control: the name of the arm that the others are compared with.
    budget: the most samples of all sites together.
    deadline: the last day, or a moment; ISO text will do.
    items: whether each item (a substrate, a document, a patient) is tried with several arms.
    features: K rows of d numbers, for a linear problem.
    means: the true means, for simulation only.
    theta: d numbers, for a linear simulation; the means are features · theta.
    normalise: scale all features by one factor so that the longest has length 1, and theta inversely.
    centre: normal rewards lie around it; sums of squares are taken from it, so that rewards which are large
        beside their scatter lose nothing. By default the middle of `reward_range`, or 0.
    descriptions: a text for each arm; empty where there is none.
    name: what the study is called.

    >>> Problem(["A", "B"]).rewards, Problem(["A", "B"]).sigma, Problem(["A", "B"], reward_range=[0, 1]).sigma
    ('normal', None, 0.5)
    >>> features, theta = [[3, 4], [0, 1]], [0.1, 0.1]
    >>> problem = Problem(["A", "B"], features=features, theta=theta, sigma=0.3, normalise=True)
    >>> problem.K, problem.dimension, problem.longest_feature, problem.arms[problem.best]
    (2, 2, 1.0, 'A')
    >>> stricter = Problem.from_dict(problem.to_dict() | {"delta": 0.01})
    >>> stricter.delta, stricter == problem
    (0.01, False)
    """

    name: str
    arms: tuple[str, ...]
    rewards: str
    sigma: float | None
    delta: float
    epsilon: float
    features: Array | None
    means: Array | None
    theta: Array | None
    reward_range: tuple[float, float] | None
    centre: float
    goal: str
    sites: str
    control: str | None
    budget: int | None
    deadline: date | None  # or a datetime, which is one
    items: bool
    descriptions: tuple[str, ...]
    unit: str | None
    _fingerprint: str | None = field(repr=False)  # once it was asked for

    def __init__(
        self,
        arms: Sequence[str],
        *,
        rewards: str | None = None,
        sigma: float | None = None,
        reward_range: Sequence[float] | None = None,
        sites: str = DIFFER,
        goal: str = HIGHEST,
        delta: float = 0.05,
        epsilon: float = 0.0,
        control: str | None = None,
        budget: int | None = None,
        deadline: date | str | None = None,
        items: bool = False,
        features: ArrayLike | None = None,
        means: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        normalise: bool = False,
        centre: float | None = None,
        descriptions: Sequence[str] | None = None,
        unit: str | None = None,
        name: str = "problem",
    ) -> None:
        name = check_name("name", name)
        delta = check_number("delta", delta, "a number above 0 and below 1", lambda x: 0 < x < 1)
        delta = check_number("delta", delta, f"at least {LEAST_DELTA}", lambda x: x >= LEAST_DELTA)
        epsilon = check_number("epsilon", epsilon, "a number of at least 0", lambda x: x >= 0)
        epsilon = check_size("epsilon", epsilon)
        kind, sigma, limits = check_noise(rewards, sigma, reward_range)
        if centre is not None and kind != NORMAL:
            raise UserError(f"centre is given, but rewards is {kind!r}; it must be left out.")
        middle = middle_of(limits) if centre is None else check_size("centre", check_number("centre", centre))
        sites = check_word("sites", sites, SITES)
        goal = check_word("goal", goal, GOALS)
        items = check_items(items, epsilon)
        names, matrix, known = check_arms(arms, features, means)
        if not isinstance(normalise, bool):
            raise UserError(f"normalise is {show(normalise)}; it must be true or false.")
        if matrix is None and (normalise or theta is not None):
            given = "normalise" if theta is None else "theta"
            raise UserError(f"{given} is given, but the arms have no features; it must be left out.")
        weights = None
        if matrix is not None and theta is not None:
            if known is not None:
                raise UserError("theta and means are both given; with theta the means must be left out.")
            weights = check_vector("theta", theta)
            if len(weights) != matrix.shape[1]:
                wanted = f"{matrix.shape[1]}, like the features"
                raise UserError(f"theta has {len(weights)} numbers; it must have {wanted}.")
        if matrix is not None and normalise:
            longest = longest_row(matrix)
            matrix = matrix / longest
            check_lengths(names, matrix)
            weights = None if weights is None else np.array([weight * longest for weight in weights.tolist()])
        if matrix is not None and weights is not None:
            known = linear_means(names, matrix, weights, limits)
        if known is not None and limits is not None:
            check_inside(names, known, limits)
        for end, number in zip(("low", "high"), limits or (), strict=False):
            check_distance(f"{end} end of reward_range", number, sigma)
        for arm, mean in zip(names, [] if known is None else known.tolist(), strict=False):
            check_distance(f"mean of arm {arm!r}", mean, sigma)
        if matrix is not None:
            warn_of_twins(names, matrix)
        noise = kind, sigma, delta, epsilon
        aims = (
            *(goal, sites, check_control(control, names), check_budget(budget), check_deadline(deadline)),
            *(items, check_descriptions(names, descriptions), check_unit(unit)),
        )
        self.__setstate__((name, names, *noise, matrix, known, weights, limits, middle, *aims, None))

    def __setstate__(self, values: Sequence[object]) -> None:
        # Also where unpickling ends: a pickle forgets that an array was read-only.
        for slot, value in zip(fields(self), values, strict=True):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, slot.name, value)

    @classmethod
    def quick(
        cls,
        means: Sequence[float],
        sigma: float | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        sites: str = DIFFER,
    ) -> Self:
        """A simulated problem from its means alone.

        >>> Problem.quick([0.9, 0.8], sigma=0.3).arms
        ('arm-1', 'arm-2')
        """
        numbers = check_vector("means", means)
        names = [f"arm-{k}" for k in range(1, len(numbers) + 1)]
        return cls(names, means=numbers, sigma=sigma, delta=delta, epsilon=epsilon, sites=sites)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The problem in a `problem.toml`, with its `arms.csv` if it names one."""
        if not isinstance(path, str | os.PathLike):
            raise UserError(f"path is {show(path)}; it must be the path of a problem file.")
        with naming(os.fspath(path)):
            text = read_text(Path(path))
        return cls.from_toml(text, path)

    @classmethod
    def from_toml(cls, text: str, path: str | os.PathLike[str] | None = None) -> Self:
        """The problem in a TOML text; `path` is where it came from, and where a relative `arms` path starts.

        >>> Problem.from_toml('arms = ["A", "B"]').arms
        ('A', 'B')
        """
        source = None if path is None else os.fspath(path)
        with naming(source):
            table = parse_toml(text)
        if path is not None:
            table = {"name": Path(path).stem} | table
        problem = cls._from_table(table, source)
        with naming(source):
            check_visible(problem)
        return problem

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The problem that `to_dict` wrote: the table of a problem.toml. It never opens a file."""
        return cls._from_table(data, None)

    @classmethod
    def _from_table(cls, given: Mapping[str, Any], source: str | None) -> Self:
        table, arms_source = join_arms(given, source)
        with naming(arms_source):
            columns = arm_columns(table.pop("arm"))
            check_arms(columns["arms"], columns.get("features"), columns.get("means"))
        with naming(source):
            others: dict[str, Any] = columns | table
            return cls(**others)

    def to_dict(self) -> dict[str, Any]:
        """All of it but what goes without saying, as plain values; JSON keeps every bit of them.

        >>> problem = Problem.quick([0.9, 0.8], sigma=0.3)
        >>> import json
        >>> Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
        True
        """
        data: dict[str, Any] = {"name": self.name, "delta": self.delta, "epsilon": self.epsilon}
        told = self.rewards == NORMAL and self.sigma is not None
        if not told and self.rewards != implied_rewards(self.reward_range):
            data["rewards"] = self.rewards
        if told:
            data["sigma"] = self.sigma
        if self.reward_range is not None and self.rewards != YES_NO:
            data["reward_range"] = list(self.reward_range)
        if self.centre != self.usual_centre:
            data["centre"] = self.centre
        if self.theta is not None:
            data["theta"] = self.theta.tolist()
        data |= self._aims()
        data["arm"] = [{"name": arm} for arm in self.arms]
        for k, arm in enumerate(data["arm"]):
            if self.descriptions and self.descriptions[k]:
                arm["description"] = self.descriptions[k]
            if self.means is not None and self.theta is None:
                arm["mean"] = float(self.means[k])
            if self.features is not None:
                arm["features"] = self.features[k].tolist()
        return data

    def _aims(self) -> dict[str, Any]:
        usual = {"goal": HIGHEST, "sites": DIFFER, "items": False}
        usual |= dict.fromkeys(("unit", "control", "budget", "deadline"))
        aims = {key: getattr(self, key) for key, value in usual.items() if getattr(self, key) != value}
        return aims if self.deadline is None else aims | {"deadline": self.deadline.isoformat()}

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Problem) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def K(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def dimension(self) -> int:
        """The number of features of an arm, 0 without features."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def linear(self) -> bool:
        """Whether the arms have features."""
        return self.features is not None

    @property
    def longest_feature(self) -> float:
        """The length of the longest feature vector, 0 without features."""
        return 0.0 if self.features is None else longest_row(self.features)

    @property
    def features_too_long(self) -> bool:
        """Whether a feature vector is longer than the 1 that the linear methods' guarantee assumes."""
        return self.longest_feature > 1 + ROUNDING

    @property
    def best(self) -> int:
        """The arm with the best mean, the first of them on ties (simulation only)."""
        if self.means is None:
            raise UserError("means are not given; to know the best arm, give means or theta.")
        return int(np.argmax(self.merits(self.means)))

    def merits(self, means: Floats) -> Array:
        """Means turned so that the largest is the best: with the goal `lowest` they change their signs.

        >>> Problem(["A", "B"], goal="lowest").merits(np.array([1.0, 2.0])).tolist()
        [-1.0, -2.0]
        """
        turned = means if self.goal == HIGHEST else reflected(means)
        return np.asarray(turned, dtype=np.float64)

    @property
    def aim(self) -> str:
        """Which rewards are wanted, in words.

        >>> Problem(["A", "B"], unit="%").aim
        'Rewards are in %; higher is better.'
        """
        return aim_in_words(self.goal, self.unit)

    def is_past(self, now: datetime) -> bool:
        """Whether there is a deadline, and it is past."""
        return self.deadline is not None and now >= last_moment(self.deadline)

    @property
    def usual_centre(self) -> float:
        """The centre of a problem that does not name one."""
        return middle_of(self.reward_range)

    def without(self, arms: Collection[str]) -> Self:
        """The same problem as if some arms had never been in it."""
        data = self.to_dict()
        if data.get("control") in arms:
            del data["control"]
        return self.from_dict(data | {"arm": [arm for arm in data["arm"] if arm["name"] not in arms]})

    def with_arm(self, name: str, features: Sequence[float] | None = None) -> Self:
        """The same problem with one more arm, at the end; its mean, if there are means, is not known."""
        data = self.to_dict()
        arm = {"name": name} | ({} if features is None else {"features": list(features)})
        others = [{key: value for key, value in old.items() if key != "mean"} for old in data["arm"]]
        return self.from_dict(data | {"arm": [*others, arm]})

    @property
    def fingerprint(self) -> str:
        """Sixteen letters that stand for all that fixes the statistics: not the name, not the means."""
        if self._fingerprint is None:
            found = fingerprint_of(
                self.arms,
                None if self.features is None else self.features.tolist(),
                self.sigma,
                self.delta,
                self.epsilon,
                self.reward_range,
                self.centre,
                self.rewards,
                self.goal,
                None if self.sites == DIFFER else self.sites,
                self.items,
            )
            object.__setattr__(self, "_fingerprint", found)
            return found
        return self._fingerprint

    def check_reward(self, reward: object) -> float:
        """The reward as a float, or a sentence that says why it is none.

        >>> Problem(["A", "B"], reward_range=[0, 1]).check_reward(1.5)
        Traceback (most recent call last):
        bestarm.errors.UserError: reward is 1.5; it must be a number from 0.0 to 1.0, the reward_range.
        """
        return check_reward(reward, self.reward_range, self.sigma, self.rewards)
