"""The wheel holds what is needed, and works where it is installed: not from the source folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from documents import ROOT

from bestarm import __version__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sources as they are."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel; its dependencies are borrowed from this one."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    place = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    command += ["--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    # As a path only: an editable install's own .pth is not followed, so the sources stay out of sight.
    (place / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(installed: Path, folder: Path, *words: str) -> str:
    """What a command of the fresh environment prints, far from the sources."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BESTARM_"))
    }
    command = [str(installed / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert names == {path.relative_to(source).as_posix() for path in files}
    others = {
        name for name in names if not name.endswith(".py")
    }  # what Python does not import is easily left out
    assert {"bestarm/py.typed", "bestarm/experiments/report.html.jinja"} <= others
    assert len([name for name in others if name.startswith("bestarm/service/dashboard/")]) > 10


def test_it_runs_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "python", "-c", "import bestarm; print(bestarm.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert run(installed, tmp_path, "bestarm", "--version").strip() == f"bestarm {__version__}"


def test_the_demo_runs_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    assert "XPhos is the best" in run(installed, tmp_path, "bestarm", "demo", "--in-process", "--fast")
