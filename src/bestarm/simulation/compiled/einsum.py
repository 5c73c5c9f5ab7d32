"""numpy's `einsum` where functions are compiled: numba has none, so here are loops for what is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types


def _times(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros(left.shape[0])
    for i in range(left.shape[0]):
        total = 0.0
        for j in range(left.shape[1]):
            total += left[i, j] * right[j]
        found[i] = total
    return found


def _rows_added(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros(right.shape[1])
    for i in range(right.shape[0]):
        for j in range(right.shape[1]):
            found[j] += left[i] * right[i, j]
    return found


def _inner(subscripts: Any, left: Any, right: Any) -> Any:
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


def _row_inner(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros(left.shape[0])
    for i in range(left.shape[0]):
        total = 0.0
        for j in range(left.shape[1]):
            total += left[i, j] * right[i, j]
        found[i] = total
    return found


def _column_inner(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros(left.shape[1])
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            found[j] += left[i, j] * right[i, j]
    return found


def _product(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            for k in range(right.shape[1]):
                found[i, k] += left[i, j] * right[j, k]
    return found


def _columns(subscripts: Any, left: Any, right: Any) -> Any:
    found = np.zeros((left.shape[1], right.shape[1]))
    for k in range(left.shape[0]):
        for i in range(left.shape[1]):
            for j in range(right.shape[1]):
                found[i, j] += left[k, i] * right[k, j]
    return found


KNOWN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "ij,j->i": _times,
    "i,ij->j": _rows_added,
    "i,i->": _inner,
    "ij,ij->i": _row_inner,
    "ij,ij->j": _column_inner,
    "ij,jk->ik": _product,
    "ki,kj->ij": _columns,
}


def loops_of(subscripts: Any, left: Any, right: Any) -> Any:
    """The loops for the subscripts of a call; none for others, which numba then refuses."""
    return KNOWN.get(subscripts.literal_value) if isinstance(subscripts, types.StringLiteral) else None
