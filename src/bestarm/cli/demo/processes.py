"""Processes and a folder that live as long as the demo does, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from bestarm.methods.registry import VARIABLE, plugins

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MEMORY = Path("/dev/shm")
ROOM = 500_000_000  # bytes that must be free there
SLICE = 0.05  # seconds; how fast a signal is answered


def place() -> Path | None:
    """Where the folder goes: to memory if there is room, unless TMPDIR says where; None is the usual place.

    Journals wait for the disk after every experiment, and here ten labs share one disk.
    """
    if os.environ.get("TMPDIR") or not os.access(MEMORY, os.W_OK):
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free > ROOM else None


class Processes:
    """A folder for temporary files, and Python processes that are gone, like the folder, when the block ends.

    A signal that asks to leave is answered in `sleep`, between two steps: never while a process is being
    started or removed, so none is forgotten.
    """

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._parts: dict[str, bytes] = {}
        self._signal: int | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                self._handlers[number] = signal.signal(number, self._note)
        self.folder = Path(tempfile.mkdtemp(prefix="bestarm-demo-", dir=place()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self.running):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if kind is None:
            self._leave()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = number

    def _leave(self) -> None:
        if self._signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self._signal is not None:
            raise SystemExit(128 + self._signal)

    def sleep(self, seconds: float) -> None:
        """Wait, and leave if a signal asks for it."""
        end = time.monotonic() + seconds
        self._leave()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, SLICE))
            self._leave()

    def start(self, name: str, module: str, *words: str, token: str = "") -> None:
        """Run a module in a process group of its own, which Ctrl-C in the terminal does not reach."""
        with (self.folder / f"{name}.errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.folder,
                env={**os.environ, "BESTARM_TOKEN": token, VARIABLE: ",".join(plugins())},
                start_new_session=True,
            )
        self.running[name], self._parts[name] = process, b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)

    def kill(self, name: str) -> list[str]:
        """End a process with SIGKILL, at whatever it is doing; the last lines that it printed."""
        process = self.running[name]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        last = self.lines(name)
        assert process.stdout is not None
        process.stdout.close()
        del self.running[name]
        return last

    def lines(self, name: str) -> list[str]:
        """The lines that a process has printed since the last time; one that is not whole yet can wait."""
        output = self.running[name].stdout
        assert output is not None
        *whole, self._parts[name] = (self._parts[name] + (output.read() or b"")).split(b"\n")
        return [line.decode() for line in whole]

    def failure(self, name: str) -> str | None:
        """The last line that a process said if it failed by itself, else None."""
        if not self.running[name].poll():
            return None
        lines = (self.folder / f"{name}.errors").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.running[name].returncode}"
