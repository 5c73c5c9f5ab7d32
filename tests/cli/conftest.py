"""What every test of the command line can ask for."""

from __future__ import annotations

from pathlib import Path

import command
import pytest


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> command.Call:
    """The command within this process."""
    return command.Call(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with problem files in it."""
    (tmp_path / "problem.toml").write_text(command.PROBLEM)
    (tmp_path / "ranged.toml").write_text(command.RANGED)
    (tmp_path / "blind.toml").write_text(command.BLIND)
    monkeypatch.chdir(tmp_path)
    return tmp_path
