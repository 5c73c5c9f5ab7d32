"""A site's part works where numpy is not installed, and what does not says in a sentence what to install."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Process, serving

import bestarm

MISSING = (
    "numpy", "scipy", "numba", "joblib", "matplotlib", "pandas", "pyarrow", "sklearn", "distributed",
    "sqlalchemy", "fastapi", "starlette", "uvicorn", "psycopg", "jinja2", "alembic", "openpyxl",
)  # fmt: skip
WITHOUT = f"import sys\nfor name in {MISSING!r}:\n    sys.modules[name] = None\n"
PROBLEM = 'sigma = 0.3\narm = [{ name = "A" }, { name = "B" }, { name = "C" }]\n'
SITE = """
import os, bestarm
with bestarm.connect(os.environ["BESTARM_URL"], token=os.environ["BESTARM_TOKEN"], plate=4) as lab:
    while not lab.finished:
        for trial in lab.ask(8, wait=None):
            lab.tell(trial, {"A": 0.9, "B": 0.1, "C": 0.0}[trial.arm])
    lab.study()._repr_html_()
print(lab.verdict.arm, sorted(name for name in sys.modules if name.startswith("bestarm.service")))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(folder=tmp_path_factory.mktemp("server")) as process, process.admin() as admin:
        arms = [{"name": arm} for arm in "ABC"]
        for name in ("one", "two"):
            problem = {"name": name, "sigma": 0.3, "delta": 0.05, "epsilon": 0.0, "arm": arms}
            admin.call("POST", "/v1/studies", {"problem": problem, "agents": 1})
        yield process


def token(server: Process, study: str) -> str:
    with server.admin() as admin:
        made = admin.call("POST", f"/v1/studies/{study}/tokens", {"role": "agent", "agent": "lab-a"})
    return str(made["token"])


def python(folder: Path, script: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A script where none of the large libraries is installed."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + script],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=60,
    )


def command(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    script = f"sys.argv = {['bestarm', *words]!r}\nfrom bestarm.cli.main import run\nrun()"
    return python(folder, script, **settings)


def test_a_whole_study_in_python(server: Process, tmp_path: Path) -> None:
    done = python(tmp_path, SITE, BESTARM_URL=server.url, BESTARM_TOKEN=token(server, "one"))
    assert (done.stdout, done.stderr) == ("A []\n", "")


def test_a_site_in_the_shell(server: Process, tmp_path: Path) -> None:
    settings = {"BESTARM_URL": server.url, "BESTARM_TOKEN": token(server, "two")}
    assert "ask" in command(tmp_path, "--help").stdout
    asked = command(tmp_path, "ask", "-n", "2", "--worksheet", "plate.csv", **settings)
    assert (asked.returncode, "2 trials in plate.csv" in asked.stderr) == (0, True)
    assert json.loads(command(tmp_path, "tell", "1", "0.5", "--format", "json", **settings).stdout)["told"] == 1
    for words in (("status",), ("sync",), ("give-back", "2"), ("leave",)):
        done = command(tmp_path, *words, **settings)
        assert done.returncode == 0, done.stderr


def test_an_administrator_who_only_calls_the_server(server: Process, tmp_path: Path) -> None:
    settings = {"BESTARM_URL": server.url, "BESTARM_TOKEN": server.admin_token}
    for words in (("study", "list"), ("study", "show", "one"), ("study", "export", "one"), ("token", "list")):
        done = command(tmp_path, *words, **settings)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("simulate", "--means", "0.9,0.5", "--sigma", "0.3"), "simulate"),
        (("compare", "--help"), "simulate"),
        (("demo",), "server,simulate"),
        (("serve",), "server"),
        (("study", "create", "problem.toml", "--agents", "1"), "server"),
        (("reproduce", "synthetic"), "experiments"),
    ],
)
def test_a_command_that_needs_more_says_what(tmp_path: Path, words: tuple[str, ...], extra: str) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    done = command(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f' is missing: pip install "bestarm[{extra}]".\n')
    assert done.stderr.count("\n") == 1


def test_a_name_that_needs_more_says_what(tmp_path: Path) -> None:
    done = python(tmp_path, "import bestarm\nbestarm.simulate")
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: bestarm.simulate needs numpy, which a site does not: "
        'pip install "bestarm[simulate]".'
    )


def test_every_public_name_is_there_and_no_module_hides_one() -> None:
    assert set(bestarm.__all__) == set(dir(bestarm))
    for name in bestarm.__all__:
        assert getattr(bestarm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bestarm.nothing  # noqa: B018
    modules = {module.name for module in pkgutil.iter_modules(bestarm.__path__)}
    assert modules & set(bestarm.__all__) == set()
