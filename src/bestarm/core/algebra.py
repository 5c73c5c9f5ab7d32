"""Products, inverses and eigenvalues that have the same bits on every machine.

A library for linear algebra chooses its order of additions by the processor, and the last bits with it. Here
`einsum` adds, which has one order, or the lines below do. Where they are compiled, `compiled.einsum` of the
simulation takes its place.
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats

HALVINGS = 80  # of the interval that has an eigenvalue


def times(matrix: Floats, vector: Floats) -> Floats:
    """`M v`.

    >>> times(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """
    found: Floats = np.einsum("ij,j->i", matrix, vector)
    return found


def rows_added(weights: Floats, matrix: Floats) -> Floats:
    """`M'w`: the sum of the rows, each with its weight.

    >>> rows_added(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [31.0, 42.0]
    """
    found: Floats = np.einsum("i,ij->j", weights, matrix)
    return found


def inner(left: Floats, right: Floats) -> float:
    """`Σ_j left_j right_j`."""
    return float(np.einsum("i,i->", left, right))


def row_inner(left: Floats, right: Floats) -> Floats:
    """`Σ_j left_kj right_kj` of every row k.

    >>> row_inner(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [10.0, 1.0]])).tolist()
    [1.0, 34.0]
    """
    found: Floats = np.einsum("ij,ij->i", left, right)
    return found


def column_inner(left: Floats, right: Floats) -> Floats:
    """`Σ_k left_kj right_kj` of every column j.

    >>> column_inner(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [10.0, 1.0]])).tolist()
    [31.0, 4.0]
    """
    found: Floats = np.einsum("ij,ij->j", left, right)
    return found


def product(left: Floats, right: Floats) -> Floats:
    """`L R`.

    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [10.0, 1.0]])).tolist()
    [[21.0, 2.0], [43.0, 4.0]]
    """
    found: Floats = np.einsum("ij,jk->ik", left, right)
    return found


def outer(left: Floats, right: Floats) -> Floats:
    """`left_i right_j` of every i and j.

    >>> outer(np.array([1.0, 2.0]), np.array([3.0, 5.0])).tolist()
    [[3.0, 5.0], [6.0, 10.0]]
    """
    return left.reshape(-1, 1) * right


def gram(matrix: Floats, weights: Floats) -> Floats:
    """`Σ_k w_k x_k x_k'` of the rows x_k.

    >>> gram(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0])).tolist()
    [[91.0, 122.0], [122.0, 164.0]]
    """
    found: Floats = np.einsum("ki,kj->ij", matrix, matrix * weights.reshape(-1, 1))
    return found


def inverse_of(matrix: Floats) -> Floats:
    """The inverse of a symmetric matrix with eigenvalues above 0.

    >>> inverse_of(np.array([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    return swept(matrix)[0]


def log_det(matrix: Floats) -> float:
    """The logarithm of the determinant of a symmetric matrix with eigenvalues above 0.

    >>> round(log_det(np.array([[2.0, 1.0], [1.0, 5.0]])), 9) == round(math.log(9.0), 9)
    True
    """
    return inverse_and_log_det(matrix)[1]


def inverse_and_log_det(matrix: Floats) -> tuple[Floats, float]:
    """Both at once."""
    inverse, total = swept(matrix)
    if math.isnan(total):
        raise ArithmeticError("the matrix has no logarithm of its determinant")
    return inverse, total


def swept(matrix: Floats) -> tuple[Floats, float]:
    """Inverse and log det, one row and column after the other (Beaton 1964); the pivots need no choice.

    The second is not a number where an eigenvalue is not above 0.
    """
    left, total = matrix.copy(), 0.0
    for k in range(matrix.shape[0]):
        row = left[k].copy()
        pivot = row[k]
        total += math.log(pivot) if pivot > 0.0 else math.nan
        share = row / pivot
        left -= outer(row, share)
        left[k] = share
        left[:, k] = share
        left[k, k] = -1.0 / pivot
    return -left, total


def extremes(matrix: Floats) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of a symmetric matrix.

    Householder's reflections leave a tridiagonal matrix; how many of its eigenvalues are below a number is the
    number of its negative pivots (Sturm), so an interval that has one is halved until nothing is left of it.

    >>> [round(number, 9) for number in extremes(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 7.0]]))]
    [1.0, 7.0]
    """
    diagonal, beside = tridiagonal(matrix)
    reach = np.abs(diagonal)
    reach[1:] += np.abs(beside)
    reach[:-1] += np.abs(beside)
    most = float(reach.max())
    return nth_eigenvalue(diagonal, beside, 1, most), nth_eigenvalue(diagonal, beside, diagonal.shape[0], most)


def tridiagonal(matrix: Floats) -> tuple[Floats, Floats]:
    """Diagonal and what stands beside it, of a tridiagonal matrix with the same eigenvalues."""
    left, size = matrix.copy(), matrix.shape[0]
    for k in range(size - 2):
        reflected = left[k + 1 :, k].copy()
        length = math.sqrt(inner(reflected, reflected))
        reflected[0] += length if reflected[0] >= 0.0 else -length
        square = inner(reflected, reflected)
        if square > 0.0:
            block = left[k + 1 :, k + 1 :].copy()
            mapped = times(block, reflected) * (2.0 / square)
            mapped = mapped - reflected * (inner(mapped, reflected) / square)
            across = outer(reflected, mapped)
            left[k + 1 :, k + 1 :] = block - across - across.T
            left[k + 1, k] = -length if left[k + 1, k] >= 0.0 else length
    diagonal, beside = np.empty(size), np.empty(size - 1)
    for k in range(size):
        diagonal[k] = left[k, k]
        if k > 0:
            beside[k - 1] = left[k, k - 1]
    return diagonal, beside


def nth_eigenvalue(diagonal: Floats, beside: Floats, n: int, most: float) -> float:
    """The n-th smallest eigenvalue of a tridiagonal matrix, all of which are at most `most` from 0."""
    low, high = -most, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if below(diagonal, beside, middle) >= n:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def below(diagonal: Floats, beside: Floats, number: float) -> int:
    """How many eigenvalues of a tridiagonal matrix are below a number."""
    found, pivot = 0, 1.0
    for k in range(diagonal.shape[0]):
        off = beside[k - 1] * beside[k - 1] if k > 0 else 0.0
        pivot = diagonal[k] - number - off / pivot
        if pivot == 0.0:
            pivot = 1e-300
        if pivot < 0.0:
            found += 1
    return found
