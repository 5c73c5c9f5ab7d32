"""Ctrl-C ends a simulation at once, says so, and leaves nothing behind."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import COMMAND

ENDLESS = ("--means", "0.9,0.1", "--sigma", "0.1", "--runs", "10000000", "--plot", "out.png")


@contextmanager
def in_a_terminal(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command in a terminal and a process group of its own, which ends with the test."""
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *words],
        stdout=other_end,
        stderr=other_end,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(other_end)
    try:
        yield process, terminal
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(terminal)


def read_until(terminal: int, word: str, seconds: float = 90.0) -> str:
    """What a terminal shows, until it shows a word or the other side has closed it."""
    shown, end = b"", time.monotonic() + seconds
    while word.encode() not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # closed
                break
    return shown.decode(errors="replace")


@pytest.mark.parametrize("extra", [("--engine", "events"), ("--engine", "rounds", "--jobs", "2")], ids=" ".join)
def test_simulate(extra: tuple[str, ...], folder: Path) -> None:
    before = sorted(folder.iterdir())
    with in_a_terminal("simulate", *ENDLESS, *extra) as (process, terminal):
        bar = read_until(terminal, "runs,")  # the bar shows, so runs are under way
        assert "sharp" in bar
        os.killpg(process.pid, signal.SIGINT)
        after = read_until(terminal, "interrupted.")
        assert process.wait(timeout=20) == 130
    visible = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", after)  # colours and cursor moves are not
    assert visible.rstrip().endswith("bestarm: interrupted.")
    assert "Traceback" not in after
    assert sorted(folder.iterdir()) == before
    wait_until_gone(process.pid)


def wait_until_gone(group: int) -> None:
    """No process of the group is left, at most a moment later."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process is left")


def test_demo(folder: Path) -> None:
    with in_a_terminal("demo") as (process, terminal):
        assert "leader" in read_until(terminal, "leader")
        process.send_signal(signal.SIGINT)
        after = read_until(terminal, "interrupted.")
        assert process.wait(timeout=20) == 130
    assert "\x1b[?25h" in after  # the cursor is back
    assert "Traceback" not in after
