"""What plates cost, by the benchmark's own studies: every well is used, and hardly more is measured."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

BENCHMARK = run_path(str(Path(__file__).parents[2] / "benchmarks" / "plates.py"))


@pytest.mark.parametrize("plate", [24, 96])
def test_wells_are_used_and_samples_are_hardly_more(plate: int) -> None:
    measured, studies = BENCHMARK["measured"], 8
    plain, _, _ = measured(None, studies)
    samples, used, uploads = measured(plate, studies)
    assert used > 0.95
    assert samples < 1.3 * plain
    assert 3 < uploads < samples / plate  # what was under way at the end is in no upload
