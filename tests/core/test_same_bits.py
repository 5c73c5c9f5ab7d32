"""The same bits on every processor: no kernel for linear algebra, and no long vector of numpy's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from bestarm.core.algebra import extremes, inverse_of, log_det, product, times
from bestarm.core.coordinates import difference_coordinates, row_coordinates, span_coordinates

REPLAYS = Path(__file__).with_name("replays.py")
MACHINES: Mapping[str, Mapping[str, str]] = {
    "this one": {},
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "zen": {"OPENBLAS_CORETYPE": "Zen"},
    "nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"},
    "short vectors": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
}


def test_all_tests_say_the_same_under_every_kernel() -> None:
    """Verdicts, states and plans of every registered test, on logs with and without features, as bytes."""
    running = {
        name: subprocess.Popen(
            [sys.executable, "-W", "ignore", str(REPLAYS)],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, settings in MACHINES.items()
    }
    said = {name: process.communicate()[0].splitlines() for name, process in running.items()}
    assert all(process.returncode == 0 for process in running.values())
    first = said["haswell"]
    assert len(first) > 10
    for name, lines in said.items():
        assert lines == first, name


@pytest.mark.parametrize("size", [1, 2, 3, 8, 25])
def test_the_algebra_is_right(size: int) -> None:
    random = np.random.default_rng(size)
    root = random.normal(size=(size, size + 3))
    matrix = product(root, np.ascontiguousarray(root.T))
    vector = random.normal(size=size)
    assert product(root, np.ascontiguousarray(root.T)) == pytest.approx(root @ root.T)
    assert times(matrix, vector) == pytest.approx(matrix @ vector)
    assert inverse_of(matrix) == pytest.approx(np.linalg.inv(matrix), rel=1e-7, abs=1e-9)
    assert log_det(matrix) == pytest.approx(np.linalg.slogdet(matrix)[1])
    lengths = np.linalg.eigvalsh(matrix)
    assert extremes(matrix) == pytest.approx((lengths[0], lengths[-1]), rel=1e-9, abs=1e-12 * lengths[-1])
    poor = product(root[:, :1], np.ascontiguousarray(root[:, :1].T))
    assert extremes(poor)[1] == pytest.approx(np.linalg.eigvalsh(poor)[-1])
    with pytest.raises(ArithmeticError):
        log_det(-matrix)


@pytest.mark.parametrize(("arms", "width", "rank"), [(5, 2, 2), (6, 9, 3), (40, 6, 4), (3, 3, 1)])
def test_coordinates_span_what_the_features_span(arms: int, width: int, rank: int) -> None:
    random = np.random.default_rng(arms)
    features = random.normal(size=(arms, rank)) @ random.normal(size=(rank, width))
    features[-1] = features[0]
    span = span_coordinates(features)
    assert span.shape == (arms, min(rank, np.linalg.matrix_rank(features)))
    assert span.T @ span == pytest.approx(np.eye(span.shape[1]), abs=1e-12)
    assert span @ (span.T @ features) == pytest.approx(features, abs=1e-12)
    rows = row_coordinates(features)
    assert rows @ rows.T == pytest.approx(features @ features.T, abs=1e-9)
    apart = difference_coordinates(features)
    middle = features - features.mean(axis=0)
    assert apart @ (apart.T @ middle) == pytest.approx(middle, abs=1e-9)
    for found in (span, rows, apart):
        assert (found[-1] == found[0]).all()  # nothing tells them apart
