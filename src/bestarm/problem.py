"""What is looked for: the arms, what is known about them, and how sure the answer must be."""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.errors import ProblemWarning, UserError
from bestarm.problem_file import KEYS, arm_columns, check_keys, join_arms, naming, parse_toml, read_text, show

Array = NDArray[np.float64]
Limits = tuple[float, float]
# Rounding may carry a computed mean past the end of its range, or a normalised feature past length 1.
ROUNDING = 1e-9
# Larger rewards are mistakes, and sums and squares of them would leave the range of floating point.
MOST_REWARD = 1e100
# And so are rewards this many times sigma away from 0: their sums round away what tells the arms apart.
MOST_SIGMAS = 1e12
LEAST_DELTA = 1e-100


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Problem:
    """The arms, what is known about them, the noise, and the guarantee that is asked for.

    The arm that is returned is within `epsilon` of the best with probability at least 1 − `delta`, for
    rewards that are `sigma`-sub-Gaussian around their mean. In a linear problem the mean of arm k is x_k'θ,
    with x_k its features. All input is checked here, once, and then never changes.

    Parameters
    ----------
    arms: the names, at least two, all different.
    sigma: how noisy a reward is (its sub-Gaussian scale); or give `reward_range` instead.
    reward_range: (low, high), where every reward lies; then sigma = (high − low)/2 (Hoeffding's lemma).
    delta: the probability of a wrong answer, above 0 and below 1.
    epsilon: how far from the best the answer may be, from 0 to below 1.
    features: K rows of d numbers, for a linear problem.
    means: the true means, for simulation only.
    theta: d numbers, for a linear simulation; the means are features · theta.
    normalise: scale all features by one factor so that the longest has length 1, and theta inversely.
    name: what the study is called.

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
    sigma: float
    delta: float
    epsilon: float
    features: Array | None
    means: Array | None
    theta: Array | None
    reward_range: tuple[float, float] | None

    def __init__(
        self,
        arms: Sequence[str],
        *,
        sigma: float | None = None,
        reward_range: Sequence[float] | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        features: ArrayLike | None = None,
        means: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        normalise: bool = False,
        name: str = "problem",
    ) -> None:
        name = check_name("name", name)
        delta = check_number("delta", delta, "a number above 0 and below 1", lambda x: 0 < x < 1)
        delta = check_number("delta", delta, f"at least {LEAST_DELTA}", lambda x: x >= LEAST_DELTA)
        epsilon = check_number("epsilon", epsilon, "a number of at least 0", lambda x: x >= 0)
        epsilon = check_size("epsilon", epsilon)
        sigma, limits = check_noise(sigma, reward_range)
        names, matrix, known = check_arms(arms, features, means)
        if not isinstance(normalise, bool):
            raise UserError(f"normalise is {show(normalise)}; it must be true or false.")
        if matrix is None and (normalise or theta is not None):
            field = "normalise" if theta is None else "theta"
            raise UserError(f"{field} is given, but the arms have no features; it must be left out.")
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
        for field, number in zip(("low", "high"), limits or (), strict=False):
            check_distance(f"{field} end of reward_range", number, sigma)
        for arm, mean in zip(names, [] if known is None else known.tolist(), strict=False):
            check_distance(f"mean of arm {arm!r}", mean, sigma)
        if matrix is not None:
            warn_of_twins(names, matrix)
        self.__setstate__((name, names, sigma, delta, epsilon, matrix, known, weights, limits))

    def __setstate__(self, values: Sequence[object]) -> None:
        # Also where unpickling ends: a pickle forgets that an array was read-only.
        for field, value in zip(fields(self), values, strict=True):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, field.name, value)

    @classmethod
    def quick(cls, means: Sequence[float], sigma: float, delta: float = 0.05, epsilon: float = 0.0) -> Self:
        """A simulated problem from its means alone.

        >>> Problem.quick([0.9, 0.8], sigma=0.3).arms
        ('arm-1', 'arm-2')
        """
        numbers = check_vector("means", means)
        names = [f"arm-{k}" for k in range(1, len(numbers) + 1)]
        return cls(names, means=numbers, sigma=sigma, delta=delta, epsilon=epsilon)

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

        >>> Problem.from_toml('sigma = 0.3\\n[[arm]]\\nname = "A"\\n[[arm]]\\nname = "B"').arms
        ('A', 'B')
        """
        source = None if path is None else os.fspath(path)
        with naming(source):
            table = parse_toml(text)
        table, arms_source = join_arms(table, source)
        if path is not None:
            table = {"name": Path(path).stem} | table
        return cls._from_table(table, source, arms_source)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The problem that `to_dict` wrote: the table of an inline problem.toml. It never opens a file."""
        return cls._from_table(data, None, None)

    @classmethod
    def _from_table(cls, table: Mapping[str, Any], source: str | None, arms_source: str | None) -> Self:
        with naming(source):
            check_keys("", table, KEYS)
        with naming(arms_source):
            names, features, means = arm_columns(table.get("arm"))
            check_arms(names, features, means)
        others = {key: value for key, value in table.items() if key != "arm"}
        with naming(source):
            return cls(names, features=features, means=means, **others)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; JSON keeps every bit of them.

        >>> problem = Problem.quick([0.9, 0.8], sigma=0.3)
        >>> Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
        True
        """
        data: dict[str, Any] = {"name": self.name, "delta": self.delta, "epsilon": self.epsilon}
        if self.reward_range is None:
            data["sigma"] = self.sigma
        else:
            data["reward_range"] = list(self.reward_range)
        if self.theta is not None:
            data["theta"] = self.theta.tolist()
        data["arm"] = [{"name": arm} for arm in self.arms]
        for k, arm in enumerate(data["arm"]):
            if self.means is not None and self.theta is None:
                arm["mean"] = float(self.means[k])
            if self.features is not None:
                arm["features"] = self.features[k].tolist()
        return data

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
        """The arm with the largest mean, the first of them on ties (simulation only)."""
        if self.means is None:
            raise UserError("means are not given; to know the best arm, give means or theta.")
        return int(np.argmax(self.means))

    @property
    def fingerprint(self) -> str:
        """Sixteen letters that stand for all that fixes the statistics: not the name, not the means."""
        features = None if self.features is None else self.features.tolist()
        parts = [self.arms, features, self.sigma, self.delta, self.epsilon, self.reward_range]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def check_reward(self, reward: object) -> float:
        """The reward as a float, or a sentence that says why it is none.

        >>> Problem(["A", "B"], reward_range=[0, 1]).check_reward(1.5)
        Traceback (most recent call last):
        bestarm.errors.UserError: reward is 1.5; it must be a number from 0.0 to 1.0, the reward_range.
        """
        if self.reward_range is None:
            return check_distance("reward", check_size("reward", check_number("reward", reward)), self.sigma)
        low, high = self.reward_range
        allowed = f"a number from {low} to {high}, the reward_range"
        return check_number("reward", reward, allowed, lambda x: low <= x <= high)


def check_number(
    field: str,
    value: object,
    allowed: str = "a finite number",
    accepts: Callable[[float], bool] = math.isfinite,
) -> float:
    """A finite real number that is accepted, as a float; True and False are not numbers."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # a whole number past the largest float
        number = math.inf
    if not math.isfinite(number) or not accepts(number):
        raise UserError(f"{field} is {show(value)}; it must be {allowed}.")
    return number + 0.0  # -0.0 becomes 0.0, so equal problems have equal fingerprints


def check_name(field: str, value: object) -> str:
    """Text that survives a CSV cell and a line of a table."""
    if not isinstance(value, str) or value.strip() != value or len(value.splitlines()) != 1:
        raise UserError(f"{field} is {show(value)}; it must be one line of text without spaces around it.")
    return str(value)


def check_size(field: str, number: float) -> float:
    """A number that is a reward, or is compared with rewards, and can be computed with."""
    allowed = f"a number from {-MOST_REWARD} to {MOST_REWARD}"
    return check_number(field, number, allowed, lambda x: abs(x) <= MOST_REWARD)


def check_distance(field: str, number: float, sigma: float) -> float:
    """A number that is not so many sigmas away from 0 that sums of such rewards say nothing about the arms."""
    allowed = f"at most {MOST_SIGMAS:g} sigma away from 0; subtract a constant from all rewards"
    return check_number(field, number, allowed, lambda x: abs(x) <= MOST_SIGMAS * sigma)


def check_list(field: str, value: object, of: str) -> list[Any]:
    """The items of a list, a tuple or an array."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return list(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    raise UserError(f"{field} is {show(value)}; it must be a list of {of}.")


def check_vector(field: str, value: object) -> Array:
    """A list of finite numbers, as an array of its own."""
    numbers = enumerate(check_list(field, value, "numbers"))
    return np.array([check_number(f"{field}[{i}]", number) for i, number in numbers], dtype=np.float64)


def check_noise(sigma: object, reward_range: object) -> tuple[float, Limits | None]:
    """sigma and the range of the rewards, of which exactly one is given."""
    if (sigma is None) == (reward_range is None):
        given = "neither sigma nor reward_range is" if sigma is None else "sigma and reward_range are both"
        raise UserError(f"{given} given; exactly one of them must be.")
    if reward_range is None:
        number = check_number("sigma", sigma, "a finite number above 0", lambda x: x > 0)
        return check_size("sigma", number), None
    numbers = check_vector("reward_range", reward_range).tolist()
    half = numbers[1] / 2 - numbers[0] / 2 if len(numbers) == 2 else 0.0
    if half <= 0:
        raise UserError(f"reward_range is {show(reward_range)}; it must be [low, high] with low below high.")
    return half, (numbers[0], numbers[1])


def check_arms(
    arms: object, features: object, means: object
) -> tuple[tuple[str, ...], Array | None, Array | None]:
    """The names, the features and the means, one of each for every arm; None stands for a missing one."""
    items = check_list("arms", arms, "names")
    names = tuple(check_name(f"name of arm {k}", arm) for k, arm in enumerate(items, 1))
    if len(names) < 2:
        raise UserError(f"arms has {len(names)} of them; it must have at least two.")
    first: dict[str, int] = {}
    for k, name in enumerate(names, 1):
        if (same := first.setdefault(name, k)) != k:
            taken = f"name of arm {k} is {name!r}, like that of arm {same}"
            raise UserError(f"{taken}; each arm must have its own name.")
    matrix = column = None
    if features is not None:
        matrix = check_features(names, check_column(names, "features", features, "lists of numbers"))
    if means is not None:
        pairs = zip(names, check_column(names, "means", means, "numbers"), strict=True)
        fields = [(f"mean of arm {name!r}", mean) for name, mean in pairs]
        column = np.array([check_size(field, check_number(field, mean)) for field, mean in fields])
    return names, matrix, column


def check_column(names: Sequence[str], field: str, value: object, of: str) -> list[Any]:
    """One item for every arm."""
    items = check_list(field, value, of)
    if len(items) != len(names):
        raise UserError(f"{field} has {len(items)} items; it must have {len(names)}, one for each arm.")
    for name, item in zip(names, items, strict=True):
        if item is None:
            raise UserError(f"{field} of arm {name!r} is missing; all arms must have {field}, or none.")
    return items


def check_features(names: Sequence[str], rows: list[Any]) -> Array:
    """One vector for every arm, all of one length."""
    vectors = [check_vector(f"features of arm {name!r}", row) for name, row in zip(names, rows, strict=True)]
    size = len(vectors[0])
    for name, vector in zip(names, vectors, strict=True):
        if len(vector) != size or size == 0:
            wanted = f"{size}, like arm {names[0]!r}" if size else "at least one"
            raise UserError(f"features of arm {name!r} has {len(vector)} numbers; it must have {wanted}.")
    matrix = np.array(vectors)
    check_lengths(names, matrix)
    return matrix


def check_lengths(names: Sequence[str], matrix: Array) -> None:
    """A zero vector has mean 0 whatever theta is: nothing can be learned about it, or from it."""
    for name, row in zip(names, matrix.tolist(), strict=True):
        length = math.hypot(*row)
        if length == 0:
            raise UserError(f"features of arm {name!r} are all 0; at least one must be another number.")
        if math.isinf(length):
            raise UserError(f"features of arm {name!r} are too large; their length must be a finite number.")


def linear_means(names: Sequence[str], matrix: Array, theta: Array, limits: Limits | None) -> Array:
    """features · theta, rounded once at the end, so that every machine gets the same bits."""
    means = []
    for name, row in zip(names, matrix.tolist(), strict=True):
        try:
            mean = math.fsum(x * weight for x, weight in zip(row, theta.tolist(), strict=True))
        except (OverflowError, ValueError):  # a sum past the largest float, or infinity minus infinity
            mean = math.inf
        means.append(check_number(f"features · theta of arm {name!r}", mean))
    if limits is None:
        return np.array(means)
    low, high = limits
    slack = ROUNDING * max(abs(low), abs(high))
    return np.array([min(max(x, low), high) if low - slack <= x <= high + slack else x for x in means])


def check_inside(names: Sequence[str], means: Array, limits: Limits) -> None:
    """A mean lies where the rewards lie."""
    low, high = limits
    allowed = f"a number from {low} to {high}, the reward_range"
    for name, mean in zip(names, means.tolist(), strict=True):
        check_number(f"mean of arm {name!r}", mean, allowed, lambda x: low <= x <= high)


def warn_of_twins(names: Sequence[str], matrix: Array) -> None:
    """Says which arms share their features."""
    first: dict[bytes, str] = {}
    for name, row in zip(names, matrix, strict=True):
        if (twin := first.setdefault(row.tobytes(), name)) != name:
            cause = f"arms {twin!r} and {name!r} have the same features"
            effect = "in the linear model no data can tell them apart"
            warnings.warn(f"{cause}; {effect}.", ProblemWarning, stacklevel=3)


def longest_row(matrix: Array) -> float:
    """The largest Euclidean length of a row."""
    return max(math.hypot(*row) for row in matrix.tolist())
