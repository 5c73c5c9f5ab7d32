"""The pages of the documentation, cut into fenced blocks, and what is done with each block.

- `python` runs; all of a page share one namespace, and see the exported BESTARM_ variables. A block
  of `>>>` lines runs as a doctest.
- `sh` runs in bash, which stops at the first failure; exported variables last to the end of the page.
  `pip` and `make` do nothing there. A line with `bestarm serve`, `dask scheduler` or `dask worker` runs beside
  the rest. Free ports take the place of those that the page names, and a PostgreSQL of the reader's own that
  of /var/run/postgresql.
- a block with `title="FILE"` is written to that file, and does nothing else.
- `text` is output, or something else to look at.

The blocks of a page run in their order, in one folder that is empty at first: a page makes what it uses. A
block in a comment is not shown, and runs like the others: it sets the scene.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from postgres import SUPERUSER, find_programs, postgres

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
PRELUDE = "pip() { :; }\nmake() { :; }\n"
SHELL = ("sh", "bash", "console", "shell")
POSTGRESQL = "/var/run/postgresql"
BESIDE = ("bestarm serve", "dask scheduler", "dask worker")


def documents() -> list[Path]:
    """README.md, the other pages beside it, and every page of the documentation."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info.split() else ""

    @property
    def file(self) -> str | None:
        title = re.search(r'title="([^"]+)"', self.info)
        return None if title is None else title[1]

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}, line {self.line}"

    @property
    def commands(self) -> list[list[str]]:
        """The lines that call bestarm, as words; continued lines are one."""
        joined = self.text.replace("\\\n", " ")
        calls = re.findall(r"(?:^|\$\(|\| )\s*(?:\w+=\S+ )*(bestarm [^|)\n]*)", joined, re.MULTILINE)
        return [shlex.split(call, comments=True) for call in calls]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        indent, body = match["indent"], match["text"]
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        found.append(
            Block(page, text.count("\n", 0, match.start()) + 1, match["info"].strip(), "\n".join(lines))
        )
    return found


@dataclass
class Reader:
    """Somebody who does what a page says, in a folder of their own."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    environment: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    sockets: str = ""  # the folder of a PostgreSQL server's socket
    left_behind: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BESTARM_")}
        self.environment = kept | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        here = re.compile(r"\b(?P<host>127\.0\.0\.1|localhost):(?P<port>\d+)\b")
        text = here.sub(lambda found: f"{found['host']}:{self.port(found['port'])}", block.text)
        if POSTGRESQL in text:
            text = text.replace(POSTGRESQL, self.start_postgresql())
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        elif block.language == "python" and text.lstrip().startswith(">>>"):
            self.run_doctest(text, block)
        elif block.language == "python":
            exported = {key: value for key, value in self.environment.items() if key.startswith("BESTARM_")}
            with patch.dict(os.environ, exported):
                exec(compile("\n" * block.line + text, str(block.page), "exec"), self.names)
        elif block.language in SHELL:
            for part in parts(text):
                self.run_beside(part) if part.startswith(BESIDE) else self.run_shell(part, block)

    def run_doctest(self, text: str, block: Block) -> None:
        """Lines of a Python session, with what they print."""
        test = doctest.DocTestParser().get_doctest(text, self.names, block.where, str(block.page), block.line)
        heard: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=heard.append, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, "".join(heard)

    def run_shell(self, text: str, block: Block) -> None:
        """Lines of bash; what they export is kept."""
        kept = self.folder / ".environment"
        script = f"{PRELUDE}{text}\nenv -0 > {kept}\n"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=800,  # a block that hangs; the longest compiles all methods, in some minutes
        )
        assert done.returncode == 0, f"{block.where}:\n{done.stdout}\n{done.stderr}"
        pairs = [pair.partition("=") for pair in kept.read_text().split("\0") if pair]
        self.environment = {key: value for key, _, value in pairs}

    def port(self, named: str) -> str:
        """The free port that takes the place of one that the page names."""
        if named not in self.ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.ports[named] = str(free.getsockname()[1])
        return self.ports[named]

    def start_postgresql(self) -> str:
        """A server whose programs and socket the shell finds; the folder of the socket."""
        if not self.sockets:
            self.sockets = str(self.left_behind.enter_context(postgres(durable=False)).folder)
            self.environment |= {
                "PGHOST": self.sockets,
                "PGUSER": SUPERUSER,
                "PATH": f"{find_programs()}{os.pathsep}{self.environment['PATH']}",
            }
        return self.sockets

    def run_beside(self, line: str) -> None:
        """A server, for the rest of the page; and what it says until it is there."""
        words = shlex.split(line, comments=True)
        if words[0] == "dask":
            module = f"distributed.cli.dask_{words[1]}"
            address = ["--port", self.port("8786")] if words[1] == "scheduler" else ["--no-nanny"]
            command = [
                sys.executable,
                "-m",
                module,
                *words[2:],
                *address,
                "--host",
                "127.0.0.1",
                "--no-dashboard",
            ]
        else:
            asked = words.index("--port") + 1 if "--port" in words else 0
            named = words[asked] if asked else "8000"
            command = [str(BIN / "bestarm"), *words[1:], "--port", self.port(named)]  # the last one counts
        log = self.left_behind.enter_context((self.folder / "beside.log").open("ab+"))
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
        )
        self.left_behind.callback(end, process)
        begun = log.tell()
        self.wait(process, re.compile(rb"listening on (\S+)|Scheduler at|Registered to"), begun)

    def wait(self, process: subprocess.Popen[bytes], ready: re.Pattern[bytes], begun: int) -> None:
        """Until a server says that it is there; the first one's token and address are remembered."""
        deadline = time.monotonic() + 60
        while True:
            said = (self.folder / "beside.log").read_bytes()[begun:]
            if found := ready.search(said):
                break
            assert process.poll() is None, said.decode()
            assert time.monotonic() < deadline, said.decode()
            time.sleep(0.05)
        if token := re.search(rb"admin token: (\S+)", said):
            self.environment.setdefault("BESTARM_TOKEN", token[1].decode())
        if found[1]:
            self.environment.setdefault("BESTARM_URL", found[1].decode())


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server in good order."""
    process.terminate()
    assert process.wait(timeout=20) == 0


def parts(text: str) -> Iterator[str]:
    """A shell block, with each line that runs beside the rest on its own."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(BESIDE):
            yield "\n".join(lines)
            yield line
            lines = []
        else:
            lines.append(line)
    yield "\n".join(lines)
