"""One hash names the code that makes the runs; what is kept and what is compiled are named after it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bestarm
from bestarm.simulation.compiled.sources import ASIDE, COMPILED, code_version


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


def change(folder: Path, name: str) -> None:
    """Add a line to a module, or to the last file of a package."""
    file = folder / f"{name}.py"
    changed = file if file.exists() else sorted((folder / name).rglob("*.py"))[-1]
    with changed.open("a") as source:
        source.write("# changed")


@pytest.mark.parametrize("name", ["core", "lower_bound", "methods", "problem", "protocol", "simulation"])
def test_a_changed_line_that_a_run_may_depend_on_is_another_version(copy: Path, name: str) -> None:
    change(copy, name)
    assert version_now() != code_version()


@pytest.mark.parametrize("name", ASIDE)
def test_what_asks_for_runs_or_shows_them_does_not_count(copy: Path, name: str) -> None:
    change(copy, name)
    assert version_now() == code_version()


def test_nothing_that_makes_a_run_stands_aside() -> None:
    """What is loaded with the engine is what a run may depend on."""
    root = Path(bestarm.__file__).parent
    code = (
        "import sys, types\n"
        "sys.modules['bestarm'] = package = types.ModuleType('bestarm')\n"
        "package.__path__ = [sys.argv[1]]\n"
        "import bestarm.simulation.compiled.compile, bestarm.simulation.engine\n"
        "print(*sys.modules)\n"
    )
    command = [sys.executable, "-c", code, str(root)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {name.split(".")[1] for name in loaded.split() if name.startswith("bestarm.")}
    assert "core" in names
    assert not names & set(ASIDE)


def test_a_file_in_a_folder_of_a_folder_counts(copy: Path) -> None:
    (copy / "core" / "tests").mkdir()
    (copy / "core" / "tests" / "pairs.py").write_text("")
    inner = version_now()
    assert inner != code_version()
    (copy / "core" / "tests" / "pairs.py").rename(copy / "core" / "pairs.py")
    assert version_now() not in (inner, code_version())


def test_compiled_functions_are_kept_under_the_version_of_what_they_come_from() -> None:
    from bestarm.simulation.compiled.compile import use_cache

    assert use_cache().name == f"compiled-{code_version(COMPILED)}"
