"""What a published package computes of the same mixtures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ville._boundaries import normal_mixture

from bestarm.core.mixture import log_worths
from bestarm.differences import half_widths

INFORMATION = np.array([0.5, 4.0, 30.0, 700.0, 1e6])


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1e-6])
@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_an_account_reaches_its_level_where_the_one_sided_boundary_is(alpha: float, sigma: float) -> None:
    boundary = sigma * normal_mixture(INFORMATION, alpha, 9.0, one_sided=True)
    worths = log_worths(boundary, INFORMATION, sigma, 9.0)
    np.testing.assert_allclose(worths, math.log(1 / alpha), rtol=0, atol=3e-7)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1e-6])
def test_intervals_of_differences_are_the_two_sided_boundary(alpha: float) -> None:
    boundary = 0.3 * normal_mixture(INFORMATION, alpha, 9.0) / INFORMATION
    np.testing.assert_allclose(half_widths(INFORMATION, 0.3, math.log(1 / alpha), 9.0), boundary, rtol=1e-12)
