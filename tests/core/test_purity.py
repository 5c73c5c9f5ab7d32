"""The core decides and does nothing else: no clock, no file, no random state. There are no exemptions."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bestarm

PACKAGE = Path(bestarm.__file__).parent
CORE = sorted((PACKAGE / "core").rglob("*.py"))
PROTOCOL = sorted((PACKAGE / "protocol").rglob("*.py"))

# What a pure file may import: numpy, and the standard library's value types.
VALUES = {
    "__future__",
    "typing",
    "collections.abc",
    "dataclasses",
    "math",
    "fractions",
    "enum",
    "array",
    "operator",
}
NUMPY = {"numpy", "numpy.typing"}
# The protocol works with the core's values and the methods made of them; `problem` also reads files, but only
# the class of a problem already read is taken from there.
PROTOCOL_MAY_USE = {
    "functools",
    "bestarm.core",
    "bestarm.protocol",
    "bestarm.methods.compose",
    "bestarm.methods.composed",
    "bestarm.methods.recipe",
    "bestarm.errors",
    "bestarm.problem",
    "bestarm.reward",
    "bestarm.standing",
    "bestarm.verdict",
}
# What a site works with: it needs no numpy. An import inside of a function is one that a site does not call.
WITHOUT_NUMPY = [
    *("core/tally.py", "core/plan.py", "reward.py", "verdict.py"),
    *(f"protocol/{name}.py" for name in ("agent", "messages", "entries", "terms")),
]
FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals"}
# Parts of numpy that read or write files, hold random state, or know the time.
FORBIDDEN_NUMPY = {
    "random", "load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile",
    "tofile", "memmap", "datetime64", "show_config", "set_printoptions", "seterr", "seterrcall",
}  # fmt: skip


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every import of a file, at any depth: the module and the name taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            for alias in node.names:
                yield node.module, alias.name


def impurities(source: str, packages: set[str]) -> list[str]:
    """What a pure file must not have. `packages` are those of this project that it may import from."""
    tree = ast.parse(source)
    found = []
    for module, name in imports(tree):
        own = any(module == package or module.startswith(package + ".") for package in packages)
        if module in NUMPY and name in FORBIDDEN_NUMPY:
            found.append(f"imports {name} from {module}")
        elif not (own or module in VALUES or module in NUMPY):
            found.append(f"imports {module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_CALLS:
            found.append(f"uses {node.id}")
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_NUMPY:
            found.append(f"uses .{node.attr}")
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.append("changes a variable outside of a function")
    return found


def test_there_are_files_to_look_at() -> None:
    names = {path.relative_to(PACKAGE / "core").as_posix() for path in CORE}
    assert {"tally.py", "estimate.py", "breaking.py", "making.py", "rules.py"} <= names
    assert {"stopping/pairs.py", "selection/lookahead.py", "trigger/aim.py"} <= names
    assert {"messages.py", "agent.py", "server.py", "entries.py", "terms.py"} <= {
        path.name for path in PROTOCOL
    }


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_core_is_pure(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8"), {"bestarm.core"}) == []


@pytest.mark.parametrize("path", PROTOCOL, ids=lambda path: path.name)
def test_protocol_does_no_input_or_output(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8"), PROTOCOL_MAY_USE) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", "imports time"),
        ("import os.path", "imports os.path"),
        ("from random import random", "imports random"),
        ("def f():\n    import json", "imports json"),
        ("from pathlib import Path", "imports pathlib"),
        ("import collections", "imports collections"),
        ("import numba", "imports numba"),
        ("import scipy.optimize", "imports scipy.optimize"),
        ("from bestarm.simulation import events", "imports bestarm.simulation"),
        ("import bestarm", "imports bestarm"),
        ("from numpy import random", "imports random from numpy"),
        ("import numpy.random", "imports numpy.random"),
        ("import numpy as np\nx = np.random.default_rng()", "uses .random"),
        ("import numpy as np\nnp.save('x', 1)", "uses .save"),
        ("open('x')", "uses open"),
        ("f = print", "uses print"),
        ("n = 0\ndef f():\n    global n\n    n = 1", "changes a variable outside of a function"),
    ],
)
def test_the_walk_sees(source: str, found: str) -> None:
    assert impurities(source, {"bestarm.core"}) == [found]


def test_the_walk_lets_values_pass() -> None:
    lines = ["from __future__ import annotations", "import math", "from bestarm.core.tally import Tally"]
    assert impurities("\n".join([*lines, "import numpy as np", "x = np.eye(2)"]), {"bestarm.core"}) == []


def modules_after(statement: str) -> set[str]:
    command = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


# The package without its front door, which loads what somebody asks it for.
BARE = (
    "import types\n"
    "bare = sys.modules['bestarm'] = types.ModuleType('bestarm')\n"
    f"bare.__path__ = [{str(PACKAGE)!r}]\n"
)


@pytest.mark.parametrize("name", WITHOUT_NUMPY)
def test_what_a_site_works_with_imports_no_numpy(name: str) -> None:
    loaded = modules_after(BARE + f"import bestarm.{name[:-3].replace('/', '.')}")
    assert "numpy" not in loaded


def test_a_site_works_without_numpy() -> None:
    """An agent with terms and a plan, until its upload is a text."""
    loaded = modules_after(
        BARE + "from bestarm.core.plan import Plan\n"
        "from bestarm.protocol.agent import Agent\n"
        "from bestarm.protocol.messages import Download, reply_from_json\n"
        "from bestarm.protocol.terms import Terms\n"
        "terms = Terms('ligands', ('A', 'B'), '18566d70caa08ade', sigma=0.3, squares=True)\n"
        "agent = Agent(terms, 'lab-a', chance=lambda number: 0.5)\n"
        "reply = Download(terms.fingerprint, plan=Plan((1, 0), (2, 1)))\n"
        "agent.receive(reply_from_json(reply.to_json(terms.arms), terms))\n"
        "uploads = [agent.tell(trial, 0.25) for trial in agent.ask(3)]\n"
        "assert uploads[-1].to_json(terms.arms)['tally'] == {'A': [1, 0.25, 0.0625], 'B': [2, 0.5, 0.125]}\n"
    )
    assert "numpy" not in loaded


def test_importing_the_package_loads_no_heavy_library() -> None:
    """A site needs what it talks with; everything else is loaded when it is used."""
    loaded = {name.partition(".")[0] for name in modules_after("import bestarm")}
    heavy = {"numba", "scipy", "matplotlib", "joblib", "fastapi", "sqlalchemy", "uvicorn", "pandas", "sklearn"}
    assert loaded & (heavy | {"distributed", "dask", "psycopg", "numpy", "httpx", "typer"}) == set()


def test_a_method_and_the_two_machines_need_numpy_alone() -> None:
    """Except the linear programme of falinpe's ratio selection, which asks for scipy when it is solved."""
    loaded = modules_after(
        "import bestarm\n"
        "problem = bestarm.Problem(['A', 'B'], sigma=0.3, features=[[1.0, 0.0], [0.6, 0.8]])\n"
        "for name in ('sharp', 'famabpe', 'lingape'):\n"
        "    method = bestarm.method(name, problem, agents=2)\n"
        "    agent, server = bestarm.Agent(method), bestarm.Server(method)\n"
        "    agent.receive(server.download())\n"
        "    for trial in agent.ask(2):\n"
        "        upload = agent.tell(trial, 0.5)\n"
        "    agent.receive(server.receive(upload))\n"
        "    assert agent.ask()\n"
    )
    assert {
        name for name in loaded if name.partition(".")[0] in {"numba", "scipy", "joblib", "matplotlib"}
    } == set()
