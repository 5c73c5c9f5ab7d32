"""Coordinates of the arms' features in which a linear model computes."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.algebra import column_inner, inner, outer, product, rows_added
from bestarm.core.arrays import Floats


def none_at_all(features: Floats) -> Floats:
    """Separate arms: no coordinates, whatever the features are."""
    return np.zeros((features.shape[0], 0))


def row_coordinates(features: Floats) -> Floats:
    """The features in as many coordinates as they have dimensions between them, with the same inner products.

    Features that do not span their space leave V = λ in the other directions, and with a small λ its inverse
    has no correct digit left. In these coordinates nothing is lost: x'V⁻¹y and det V / λ^d are the same.

    >>> row_coordinates(np.array([[3.0, 4.0], [0.3, 0.4]])).round(9).tolist()
    [[5.0], [0.5]]
    """
    ways = _basis(np.ascontiguousarray(np.asarray(features, dtype=np.float64).T))
    if ways.shape[1] == features.shape[1]:
        return np.array(features, dtype=np.float64, order="C")
    return product(np.array(features, dtype=np.float64, order="C"), ways)


def span_coordinates(features: Floats) -> Floats:
    """Orthonormal coordinates Z of the features' span, one row an arm: `Z'Z = I`, as many columns as the rank.

    >>> span_coordinates(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])).shape
    (3, 1)
    """
    return _basis(features)


def difference_coordinates(features: Floats) -> Floats:
    """Orthonormal coordinates of the span of the features' differences; at least one column, if need be of 0.

    What all arms have in common cancels where arms are compared inside batches, so it gets no coordinate.

    >>> np.abs(difference_coordinates(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]))).round(3).tolist()
    [[0.707], [0.0], [0.707]]
    """
    coordinates = _basis(features - features.mean(axis=0))
    return coordinates if coordinates.shape[1] else np.zeros((features.shape[0], 1))


def _basis(features: Floats) -> Floats:
    """Orthonormal columns that span those of the features: the longest, and what is left without it, in turn.

    Arms with the same features have the same coordinates to the last bit, so that nothing tells them apart.
    """
    rest = np.array(features, dtype=np.float64, order="C")
    lengths = np.sqrt(column_inner(rest, rest))
    least = lengths.max(initial=0.0) * max(features.shape) * np.finfo(float).eps
    found: list[Floats] = []
    while len(found) < min(features.shape) and lengths.max() > least:
        longest = int(np.argmax(lengths))
        column = rest[:, longest].copy()
        for known in found:  # once more: rounding has left a little of them
            column -= inner(known, column) * known
        column /= math.sqrt(inner(column, column))
        rest -= outer(column, rows_added(column, rest))
        rest[:, longest] = 0.0
        lengths = np.sqrt(column_inner(rest, rest))
        found.append(column)
    return np.ascontiguousarray(np.array(found).reshape(len(found), features.shape[0]).T)
