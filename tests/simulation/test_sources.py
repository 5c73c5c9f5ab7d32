"""One hash names the code that makes the runs; what is kept and what is compiled are named after it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import bestarm
from bestarm.simulation.sources import SOURCES, code_version


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's sources, taken for the package."""
    root = Path(bestarm.__file__).parent
    shutil.copytree(root, tmp_path / "bestarm", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(bestarm, "__file__", str(tmp_path / "bestarm" / "__init__.py"))
    return tmp_path / "bestarm"


def version_now() -> str:
    """The version as a process that starts now would find it."""
    return code_version.__wrapped__()


def test_the_same_sources_have_the_same_version(copy: Path) -> None:
    assert version_now() == code_version()
    assert version_now().startswith(f"{bestarm.__version__}-")


@pytest.mark.parametrize("name", SOURCES)
def test_a_changed_line_anywhere_is_another_version(copy: Path, name: str) -> None:
    file = copy / f"{name}.py"
    changed = file if file.exists() else sorted((copy / name).rglob("*.py"))[-1]
    with changed.open("a") as source:
        source.write("# changed")
    assert version_now() != code_version()


def test_a_file_in_a_folder_of_a_folder_counts(copy: Path) -> None:
    (copy / "core" / "tests").mkdir()
    (copy / "core" / "tests" / "pairs.py").write_text("")
    inner = version_now()
    assert inner != code_version()
    (copy / "core" / "tests" / "pairs.py").rename(copy / "core" / "pairs.py")
    assert version_now() not in (inner, code_version())


def test_what_only_shows_results_does_not_count(copy: Path) -> None:
    with (copy / "plot.py").open("a") as source:
        source.write("# changed")
    assert version_now() == code_version()


def test_compiled_functions_are_kept_under_the_version() -> None:
    from bestarm.simulation.compile import use_cache

    assert use_cache().name == f"compiled-{code_version()}"
