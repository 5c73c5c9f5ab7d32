"""Words are spelled as they should be; pyproject.toml names those that only look wrong (`tool.codespell`)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from documents import FENCE, ROOT, documents

PLACES = ("docs", "src", "tests", "examples", "benchmarks", "scripts")
TWICE = re.compile(r"\b([a-z]+)\s+\1\b")
MEANT = {"that that", "had had", "at at"}


def spelled(folder: Path, *places: str) -> str:
    """What codespell finds."""
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *places],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout + done.stderr


def test_no_word_is_misspelled() -> None:
    pages = [page.name for page in ROOT.glob("*.md")]
    assert spelled(ROOT, *pages, *PLACES) == ""


def test_a_misspelled_word_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("It will " + "occ" + "ured" + " again.")
    assert "page.md:1" in spelled(tmp_path, "page.md")


def test_no_word_is_there_twice() -> None:
    for page in documents():
        text = re.sub("`[^`]*`", "`code`", FENCE.sub("", page.read_text(encoding="utf-8")))
        twice = [found[0] for found in TWICE.finditer(text) if " ".join(found[0].split()) not in MEANT]
        assert twice == [], page
