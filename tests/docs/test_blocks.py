"""What the pages say can be done is done here, block by block (`documents.py` has the rules)."""

from __future__ import annotations

import subprocess
from codeop import compile_command
from pathlib import Path
from typing import Any

import pytest
import typer.main
from documents import ROOT, SHELL, Block, Reader, blocks, documents
from outside import forgotten

from bestarm.cli.main import app

BLOCKS = [block for page in documents() for block in blocks(page)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
IN_SHELL = [block for block in BLOCKS if block.language in SHELL]
COMMANDS = [(block, words) for block in IN_SHELL for words in block.commands]
PAGES = sorted({block.page for block in PYTHON + IN_SHELL})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    with forgotten(), reader.left_behind:
        for block in blocks(page):
            reader.follow(block)


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.where)
def test_python_compiles(block: Block) -> None:
    if not block.text.lstrip().startswith(">>>"):
        compile(block.text, block.where, "exec")


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.where)
def test_python_can_be_typed_into_a_session(block: Block) -> None:
    """There an empty line ends what is indented, and nothing else does."""
    if block.file is not None or block.text.lstrip().startswith(">>>"):
        return
    typed: list[str] = []
    for line in [*block.text.splitlines(), ""]:
        typed.append(line)
        if compile_command("\n".join(typed), symbol="single") is not None:
            typed = []
    assert not any(typed), f"{block.where}: {typed}"


@pytest.mark.parametrize("block", IN_SHELL, ids=lambda block: block.where)
def test_bash_can_read_it(block: Block) -> None:
    done = subprocess.run(["bash", "-n", "-c", block.text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("block", "words"), COMMANDS, ids=lambda value: getattr(value, "where", None))
def test_commands_and_options_exist(block: Block, words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    rest = words[1:]
    while rest and hasattr(command, "get_command"):
        if rest[0].startswith("-"):
            break
        inner = command.get_command(None, rest[0])
        assert inner is not None, f"{block.where}: there is no command {' '.join(words)}"
        command, rest = inner, rest[1:]
    known = {option for parameter in command.params for option in getattr(parameter, "opts", [])} | {"--help"}
    given = {word.partition("=")[0] for word in rest if word.startswith("--") or word == "-n"}
    assert given <= known, f"{block.where}: {' '.join(words)}"


def test_every_block_says_what_it_is() -> None:
    """A call of bestarm in a block without a language would not be run."""
    silent = [block.where for block in BLOCKS if block.language == "" and block.commands]
    assert silent == []
