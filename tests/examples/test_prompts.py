"""examples/prompts: worksheets out, scores in, by the real shell commands, until there is a verdict."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from example import EXAMPLES


def test_worksheets_lead_to_a_verdict(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("BESTARM_")}
    done = subprocess.run(
        ["bash", str(EXAMPLES / "prompts/run.sh"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment | {"PATH": programs, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    assert "The study is finished: with examples is best, after 180 samples." in done.stdout
    assert "the answer is with examples" in done.stdout
    with (tmp_path / "red/sheet-1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60  # every prompt min_batch times, since nothing was known
    assert all(0 <= float(row["reward"]) <= 1 for row in rows)
