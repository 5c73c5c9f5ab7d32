"""The command as people call it, and where its files are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bestarm.cli import main

COMMAND = str(Path(sys.executable).with_name("bestarm"))
QUICK = ("--means", "0.9,0.5", "--sigma", "0.3", "--runs", "4", "--engine", "rounds")

PROBLEM = """
name = "ligands"
delta = 0.1
sigma = 0.3
arm = [{ name = "A", mean = 0.9 }, { name = "B", mean = 0.5 }, { name = "C", mean = 0.4 }]
"""
RANGED = PROBLEM.replace("sigma = 0.3", "reward_range = [0.0, 1.0]")
BLIND = 'sigma = 0.3\narm = [{ name = "A" }, { name = "B" }]\n'


def bestarm(*words: str) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120, check=False)


class Call:
    """The entry point called within this process: its exit code, and what it printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["bestarm", *words])
        with self.monkeypatch.context() as patch:
            patch.setattr(main, "show_warnings_as_lines", lambda: None)  # pytest's own handling stays
            with pytest.raises(SystemExit) as end:
                main.run()
        printed = self.capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return code, printed.out, printed.err
