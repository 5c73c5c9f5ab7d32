"""A real server process, started and stopped like a user's, and an application driven without a port."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from bestarm.client.server.connection import Connection

BESTARM = str(Path(sys.executable).parent / "bestarm")


class Process:
    """A `bestarm serve` that listens."""

    def __init__(self, *options: str, folder: Path) -> None:
        self.folder = folder
        token_file = folder / "admin-token"
        command = [BESTARM, "serve", "--port", "0", "--admin-token-file", str(token_file), *options]
        self.errors = (folder / "stderr").open("ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            self.process.wait(timeout=20)
            raise RuntimeError(f"serve said {line!r} and {(folder / 'stderr').read_text()!r}")
        self.url = line.removeprefix("listening on ").strip()
        self.admin_token = token_file.read_text().strip()

    def admin(self) -> Connection:
        """A connection as the administrator."""
        return Connection(self.url, self.admin_token)

    def cpu_seconds(self) -> float:
        """The CPU time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def metrics(self, start: str) -> float:
        """The sum of the samples of `/metrics` that begin so."""
        headers = {"Authorization": f"Bearer {self.admin_token}"}
        lines = httpx.get(f"{self.url}/metrics", headers=headers, trust_env=False).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f"bestarm_{start}"))

    def metric(self, name: str) -> float:
        """A value of `/metrics` that has no labels."""
        return self.metrics(f"{name} ")

    def stop(self, signal_number: int = 15) -> int:
        """End it with a signal and return its exit code."""
        self.process.send_signal(signal_number)
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.close()
        return code


@contextmanager
def serving(*options: str, folder: Path) -> Iterator[Process]:
    """A server process for as long as the block lasts."""
    process = Process(*options, folder=folder)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.stop()


class Local(httpx.BaseTransport):
    """Drives an application in this process, on an event loop of its own. Answers are read to their end."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._inner = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._lifespan = app.router.lifespan_context(app)
        self.run(self._lifespan.__aenter__())

    def run(self, work: Any) -> Any:
        """The result of a coroutine on the application's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        copy = httpx.Request(request.method, request.url, headers=request.headers, content=content)

        async def answered() -> httpx.Response:
            response = await self._inner.handle_async_request(copy)
            body = await response.aread()
            return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(body))

        response: httpx.Response = self.run(answered())
        return response

    def close(self) -> None:
        if not self._loop.is_closed():
            self.run(self._lifespan.__aexit__(None, None, None))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
