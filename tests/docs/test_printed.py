"""What a page prints below a command is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import ROOT, Block, Reader, blocks

PAGE = ROOT / "docs" / "coordinators.md"


def estimate_and_table() -> tuple[Block, Block]:
    """The first estimate of the page, and the block after it."""
    found = blocks(PAGE)
    place = next(k for k, block in enumerate(found) if "bestarm estimate" in block.text)
    return found[place], found[place + 1]


def test_the_table_of_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    estimate, table = estimate_and_table()
    reader = Reader(tmp_path)
    for block in blocks(PAGE):
        if block.file == "screen.toml":
            reader.follow(block)
    reader.run_shell(f"{estimate.text} > printed", estimate)
    assert table.text in "\n".join(line.rstrip() for line in (tmp_path / "printed").read_text().splitlines())
