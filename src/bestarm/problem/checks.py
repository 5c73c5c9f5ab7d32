"""The checks of a problem's numbers and names: what can't be meant is one sentence that says what must be."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import ProblemWarning, UserError, either
from bestarm.reward import Limits, check_in_range, check_number, check_size, show, stretched

Array = NDArray[np.float64]
LEAST_DELTA = 1e-100


def check_name(field: str, value: object) -> str:
    """Text that survives a CSV cell and a line of a table."""
    if not isinstance(value, str) or value.strip() != value or len(value.splitlines()) != 1:
        raise UserError(f"{field} is {show(value)}; it must be one line of text without spaces around it.")
    return str(value)


def check_word(field: str, value: object, words: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in words:
        raise UserError(f"{field} is {show(value)}; it must be {either(map(repr, words))}.")
    return value


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
    (low, high), (lowest, highest) = limits, stretched(limits)
    return np.array([min(max(x, low), high) if lowest <= x <= highest else x for x in means])


def check_inside(names: Sequence[str], means: Array, limits: Limits) -> None:
    """A mean lies where the rewards lie."""
    for name, mean in zip(names, means.tolist(), strict=True):
        check_in_range(f"mean of arm {name!r}", mean, limits)


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
