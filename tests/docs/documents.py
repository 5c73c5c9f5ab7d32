"""The pages of the documentation, cut into fenced blocks, and what is done with each block.

- `python` runs; all of a page share one namespace, and see the exported BESTARM_ variables. A block
  of `>>>` lines runs as a doctest.
- `sh` runs in bash, which stops at the first failure; exported variables last to the end of the page.
  `pip` and `make` do nothing there. `bestarm serve` runs beside the rest, on a free port that takes the place
  of 8000 in every block of the page.
- a block with `title="FILE"` is written to that file, and does nothing else.
- `notest` after `python` or `sh` marks a fragment; it must still compile, and its commands and options exist.
- `text` is output, or something else to look at.

The blocks of a page run in their order, in one folder, where `problem.toml` and `ligands.toml` lie already.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
LIGANDS = """\
name = "ligands"
delta = 0.05
sigma = 0.1
arm = [{ name = "PPh3", mean = 0.6 }, { name = "XPhos", mean = 0.9 }, { name = "dppf", mean = 0.5 }]
"""
PRELUDE = "pip() { :; }\nmake() { :; }\n"
SHELL = ("sh", "bash", "console", "shell")


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
    def fragment(self) -> bool:
        return "notest" in self.info.split()

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
    port: int = 0
    left_behind: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BESTARM_")}
        self.environment = kept | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
        for name in ("problem.toml", "ligands.toml"):
            (self.folder / name).write_text(LIGANDS)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        text = re.sub(r"\b(127\.0\.0\.1|localhost):8000\b", rf"\1:{self.port}", block.text)
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
                self.serve(part) if part.startswith("bestarm serve") else self.run_shell(part, block)

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
            timeout=120,
        )
        assert done.returncode == 0, f"{block.where}:\n{done.stdout}\n{done.stderr}"
        pairs = [pair.partition("=") for pair in kept.read_text().split("\0") if pair]
        self.environment = {key: value for key, _, value in pairs}

    def serve(self, line: str) -> None:
        """A server for the rest of the page."""
        words = [*shlex.split(line, comments=True)[1:], "--port", str(self.port)]
        errors = self.left_behind.enter_context((self.folder / "serve.log").open("ab"))
        process = subprocess.Popen(
            [str(BIN / "bestarm"), *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        self.left_behind.callback(end, process)
        assert process.stdout is not None
        said = iter(process.stdout.readline, "")
        for sentence in said:
            if sentence.startswith("admin token: "):
                self.environment["BESTARM_TOKEN"] = sentence.split()[-1]
            if sentence.startswith("listening on "):
                self.environment.setdefault("BESTARM_URL", sentence.split()[-1])
                return
        raise AssertionError(f"{line}: {(self.folder / 'serve.log').read_text()}")


def end(process: subprocess.Popen[str]) -> None:
    """Stop a server in good order."""
    process.terminate()
    assert process.wait(timeout=20) == 0
    assert process.stdout is not None
    process.stdout.close()


def parts(text: str) -> Iterator[str]:
    """A shell block, with each `bestarm serve` on its own."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("bestarm serve"):
            yield "\n".join(lines)
            yield line
            lines = []
        else:
            lines.append(line)
    yield "\n".join(lines)
