"""The reference says what the code says."""

from __future__ import annotations

import subprocess
import sys

from documents import ROOT


def test_the_reference_is_up_to_date() -> None:
    """After a change of a command, a docstring or a route: `make reference`."""
    command = [sys.executable, "-W", "error", str(ROOT / "scripts" / "reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
