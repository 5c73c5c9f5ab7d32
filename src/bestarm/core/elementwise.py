"""Logarithms and exponentials of many numbers, each by the library that computes one.

numpy has its own for long arrays, with other last bits on processors that do eight at a time.
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.arrays import Floats


def log(numbers: Floats) -> Floats:
    """log x of every x.

    >>> log(np.array([1.0, math.e])).tolist()
    [0.0, 1.0]
    """
    return np.array([math.log(number) for number in numbers])


def log1p(numbers: Floats) -> Floats:
    """log(1 + x) of every x.

    >>> log1p(np.array([0.0, 1e-20])).tolist()
    [0.0, 1e-20]
    """
    return np.array([math.log1p(number) for number in numbers])


def exp(numbers: Floats) -> Floats:
    """eˣ of every x.

    >>> exp(np.array([0.0, 1.0])).tolist() == [1.0, math.e]
    True
    """
    return np.array([math.exp(number) for number in numbers])
