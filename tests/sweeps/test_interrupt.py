"""Ctrl-C in a real process keeps what is finished, and the same command continues."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUNS = 20
SWEEP = f"""
runs = {RUNS}
engine = "rounds"
agents = 5
[[problem]]
K = 3
gaps = [0.3, 0.31, 0.32, 0.33]
sigma = 0.3
[[method]]
name = "famabpe"
"""
# A shell that starts this in the background has told it to ignore Ctrl-C.
START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = [sys.executable, "-c", START + "from bestarm.cli.main import run; run()", "sweep", "sweep.toml"]


def sweep(folder: Path, *options: str) -> "subprocess.Popen[str]":
    (folder / "sweep.toml").write_text(SWEEP)
    return subprocess.Popen(
        [*COMMAND, "--out", "results.csv", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kept_runs(folder: Path) -> list[str]:
    """The key of its cell for each run that is kept."""
    path = folder / "results.runs.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [line["key"] for line in map(json.loads, lines) for _ in line["outcomes"]]


def rows_without_times(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_sweep_continues_to_the_same_results(tmp_path: Path, jobs: str) -> None:
    process = sweep(tmp_path, "--jobs", jobs)
    deadline = time.monotonic() + 60
    while max(map(kept_runs(tmp_path).count, set(kept_runs(tmp_path))), default=0) < RUNS:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to all processes of the command
    printed, said = process.communicate(timeout=30)
    assert process.returncode == 130
    kept = len(kept_runs(tmp_path))
    assert printed == ""
    first, second = said.splitlines()
    kept_where = r"are kept in results\.runs\.jsonl; the same command continues there\."
    told = re.fullmatch(rf"bestarm: (\d+) of {4 * RUNS} runs {kept_where}", first)
    assert told
    assert kept - 25 <= int(told[1]) <= kept  # Ctrl-C may fall between keeping a piece and counting it
    assert second == "bestarm: interrupted."
    assert RUNS <= kept < 4 * RUNS
    finished = rows_without_times(tmp_path / "results.csv")

    again = sweep(tmp_path, "--jobs", "2")
    _, said = again.communicate(timeout=60)
    assert (said, again.returncode) == ("", 0)
    assert len(kept_runs(tmp_path)) == 4 * RUNS

    whole = tmp_path / "whole"
    whole.mkdir()
    at_once = sweep(whole, "--jobs", "1")
    at_once.communicate(timeout=60)
    assert at_once.returncode == 0
    uninterrupted = rows_without_times(whole / "results.csv")
    assert rows_without_times(tmp_path / "results.csv") == uninterrupted
    assert finished
    assert all(row in uninterrupted for row in finished)
