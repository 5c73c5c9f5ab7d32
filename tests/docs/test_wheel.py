"""The wheel holds what is needed, and works where it is installed: not from the source folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

import pytest
from documents import ROOT, blocks
from packaging.requirements import Requirement
from serving import serving

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
    scripts = install(wheel, tmp_path_factory.mktemp("fresh"))
    # As a path only: an editable install's own .pth is not followed, so the sources stay out of sight.
    (packages(scripts) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return scripts


def install(wheel: Path, folder: Path) -> Path:
    """The scripts of a new environment that holds the wheel and none of its dependencies."""
    venv.create(folder, with_pip=False)
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    command += ["--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


def packages(scripts: Path) -> Path:
    """Where an environment keeps its packages."""
    return scripts.parent / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel and what it needs without extras, and nothing else."""
    scripts = install(wheel, tmp_path_factory.mktemp("bare"))
    place = packages(scripts)
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        head = message_from_bytes(archive.read(about))
    for name in closure(head.get_all("Requires-Dist", [])):
        for file in metadata.distribution(name).files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (place / top).exists():
                (place / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top)
    return scripts


def closure(requirements: Iterable[str]) -> set[str]:
    """The names of these requirements and of all that they need, without extras."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        needed = Requirement(waiting.pop())
        if needed.name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            found.add(needed.name)
            waiting += metadata.requires(needed.name) or []
    return found


def run(installed: Path, folder: Path, *words: str, **settings: str) -> str:
    """What a command of the fresh environment prints, far from the sources."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BESTARM_"))
    } | settings
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
    assert {
        "bestarm/py.typed",
        "bestarm/experiments/report.html.jinja",
        "bestarm/service/view/paper/report.css",
    } <= others
    assert len([name for name in others if name.startswith("bestarm/service/dashboard/")]) > 10


def test_the_wheel_has_its_licence_and_says_so(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        head = message_from_bytes(archive.read(about))
        assert (head["License-Expression"], head["License-File"]) == ("Apache-2.0", "LICENSE")
        assert archive.read(about.replace("METADATA", "licenses/LICENSE")) == (ROOT / "LICENSE").read_bytes()
        others = [name for name in archive.namelist() if b"opyright" in archive.read(name)]
    assert [Path(name).name for name in others] == ["LICENSE"]  # nothing of somebody else's is in it


def test_it_runs_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "python", "-c", "import bestarm; print(bestarm.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert run(installed, tmp_path, "bestarm", "--version").strip() == f"bestarm {__version__}"


def test_the_demo_runs_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    assert "XPhos is the best" in run(installed, tmp_path, "bestarm", "demo", "--in-process", "--fast")


def test_a_study_without_a_server_runs_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    """The five lines of the README, from nothing to a verdict, in less than a minute of machine time."""
    five = next(block.text for block in blocks(ROOT / "README.md") if "create_study" in block.text)
    before = os.times()
    said = run(installed, tmp_path, "python", "-W", "error", "-c", five)
    after = os.times()
    assert said.startswith("XPhos is the answer")
    assert list(tmp_path.iterdir()) == []
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 20.0  # to be installed has taken its share of the minute


def test_a_site_needs_few_packages_and_no_numpy(bare: Path, tmp_path: Path) -> None:
    """`pip install bestarm`, an address and a token."""
    assert {"httpx", "typer", "rich"} <= {path.name for path in packages(bare).iterdir()}
    size = sum(
        path.stat().st_size
        for top in packages(bare).iterdir()
        for path in (top.resolve().rglob("*") if top.is_dir() else [top])
        if path.is_file() and path.suffix != ".pyc"
    )
    assert size < 20_000_000
    loaded = run(bare, tmp_path, "python", "-c", "import sys, bestarm; print(*sys.modules)").split()
    assert {"numpy", "httpx"} & set(loaded) == set()
    assert "Which experiments to do next." in run(bare, tmp_path, "bestarm", "--help")
    with serving(folder=tmp_path) as server, server.admin() as admin:
        arms = [{"name": "A"}, {"name": "B"}]
        problem = {"name": "ligands", "sigma": 0.3, "delta": 0.05, "epsilon": 0.0, "arm": arms}
        admin.call("POST", "/v1/studies", {"problem": problem, "agents": 1})
        made = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "lab-a"})
        settings = {"BESTARM_URL": server.url, "BESTARM_TOKEN": made["token"]}
        asked = run(bare, tmp_path, "bestarm", "ask", "-n", "2", "--format", "json", **settings)
        assert sorted(row["arm"] for row in json.loads(asked)) == ["A", "B"]
        told = [run(bare, tmp_path, "bestarm", "tell", trial, "0.5", **settings) for trial in "12"]
        assert "That filled the plan, and it is sent." in told[1]
    (tmp_path / "x.db").touch()
    with pytest.raises(AssertionError, match=r'is missing: pip install "bestarm\[server\]"'):
        run(bare, tmp_path, "bestarm", "ask", BESTARM_URL="sqlite:///x.db", BESTARM_AGENT="me")
    with pytest.raises(AssertionError, match=r'numpy is missing: pip install "bestarm\[simulate\]"'):
        run(bare, tmp_path, "bestarm", "simulate", "--means", "0.9,0.5", "--sigma", "0.3")
