"""examples/sweep: the file is a grid of 21 cells, it runs, and its results make a figure."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from example import EXAMPLES, run_example

from bestarm.sweeps.grid import load_grid

FILE = EXAMPLES / "sweep/sweep.toml"


def test_the_file_is_a_grid() -> None:
    cells = load_grid(FILE)
    assert len(cells) == 21
    assert all(cell.runs == 200 for cell in cells)


def test_results_make_a_figure(tmp_path: Path) -> None:
    """The same file with less work: the widest gap, a few runs, and the engine that needs no compilation."""
    text = FILE.read_text().replace("gaps = [0.1, 0.2, 0.4]", "gaps = [0.4]")
    (tmp_path / "sweep.toml").write_text('engine = "rounds"\n' + text)
    words = ["sweep", "sweep.toml", "--out", "results.csv", "--runs", "4", "--jobs", "1"]
    command = [str(Path(sys.executable).with_name("bestarm")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    samples = [float(row["samples_mean"]) for row in rows]
    assert len(samples) == 7
    assert samples[0] > 2 * max(samples[1:])  # the paper's stopping test needs several times as many
    run_example("sweep/figure.py", "results.csv", "figure.png", folder=tmp_path)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
