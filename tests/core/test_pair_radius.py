"""The pair test's radius against its definition, computed another way."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from bestarm.core.mixture import one_sided
from bestarm.core.stopping.pairs import pair_radius


def evidence(pulls: int, margin: float, rho: float) -> float:
    """log of the one-sided mixture, with scipy's normal distribution."""
    z = pulls * margin / np.sqrt(pulls + rho)
    return float(np.log(2) + 0.5 * np.log(rho / (pulls + rho)) + z * z / 2 + norm.logcdf(z))


def least_evidence(first: int, second: int, margin: float, rho: float) -> float:
    def total(x: float) -> float:
        return evidence(first, x, rho) + evidence(second, margin - x, rho)

    places = np.linspace(-margin, 2 * margin, 61)
    best = min(places, key=total)
    step = places[1] - places[0]
    return float(minimize_scalar(total, bounds=(best - step, best + step), method="bounded").fun)


@given(
    st.integers(1, 10**5),
    st.floats(0.02, 50.0),
    st.floats(0.5, 12.0),
    st.floats(0.5, 100.0),
)
def test_radius_is_where_the_least_evidence_reaches_the_level(
    first: int, ratio: float, level: float, rho: float
) -> None:
    second = max(1, round(first * ratio))
    radius = pair_radius(first, second, level, rho)
    assert np.isfinite(radius)
    assert abs(least_evidence(first, second, radius, rho) - level) < 1e-5 * level


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.floats(0.1, 15.0), st.floats(0.1, 1000.0))
def test_radius_is_never_too_small(first: int, second: int, level: float, rho: float) -> None:
    """Also where Newton's method gives up the answer is on the safe side: no stop."""
    radius = pair_radius(first, second, level, rho)
    assert radius > 0
    if np.isfinite(radius):
        assert least_evidence(first, second, radius, rho) > level * (1 - 1e-4) - 1e-6


@given(st.floats(-200.0, 60.0))
def test_one_sided_mixture_and_its_derivatives(z: float) -> None:
    value, slope, bend = one_sided(z)
    assert np.isclose(value, z * z / 2 + norm.logcdf(z), rtol=1e-9, atol=1e-9)
    step = 1e-4 * max(1.0, abs(z))
    up, down = one_sided(z + step), one_sided(z - step)
    assert np.isclose(slope, (up[0] - down[0]) / (2 * step), rtol=1e-4, atol=1e-7)
    assert np.isclose(bend, (up[1] - down[1]) / (2 * step), rtol=1e-3, atol=1e-6)
