"""Runs an example as a reader would: in a process of its own, warnings as errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(script: str, *words: str, folder: Path | None = None) -> str:
    """What the script printed; a failure is the test's."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout
