"""Compiled rules from elsewhere are kept on the disk, under a hash of all that they reach."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from bestarm.simulation.compiled.reached import reached_version

RULES = """
import numpy as np
from bestarm.rules import METHODS, Kind, Recipe, Selection, one_arm, register
from helping import fewest

TURN = 1

def evenly(pulls, view, reading, setting):
    return fewest(pulls) * TURN

def defaults(problem, agents):
    return METHODS["ugapec"].defaults(problem, agents) | {"selection": "evenly"}

register(
    Selection("evenly", "the arm with the fewest pulls", evenly, one_arm),
    Recipe("even", Kind.ALONE, defaults, "tests"),
)
"""
HELPER = """
def fewest(pulls):
    return smallest(pulls)

def smallest(pulls):
    place = 0
    for arm in range(len(pulls)):
        if pulls[arm] < pulls[place]:
            place = arm
    return place
"""
RUN = """
import bestarm, theirs
from bestarm.methods import method
from bestarm.simulation.api import prepare
engine = prepare(method("even", bestarm.Problem.quick([0.9, 0.5], sigma=0.3), 1), 0)
engine.run(0)
print(sum(engine._loop.stats.cache_hits.values()))
"""


def hits(folder: Path) -> int:
    """How often a process that starts now finds the loop compiled."""
    env = os.environ | {"BESTARM_CACHE": str(folder / "cache"), "PYTHONPATH": _path(folder)}
    command = [sys.executable, "-c", RUN]
    return int(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def _path(folder: Path) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def test_a_second_start_compiles_nothing_and_one_with_a_changed_helper_does(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(RULES)
    (tmp_path / "helping.py").write_text(HELPER)
    assert [hits(tmp_path), hits(tmp_path)] == [0, 1]
    (tmp_path / "helping.py").write_text(HELPER.replace("<", "<="))
    assert hits(tmp_path) == 0


def made(source: str, name: str = "elsewhere", **values: Any) -> Any:
    """The function `rule` of a module with this source."""
    module = types.ModuleType(name)
    module.__dict__.update(values)
    exec(source, module.__dict__)
    return module.__dict__["rule"]


PLAIN = "def help(x):\n    return x + LEVEL\nLEVEL = 1.5\ndef rule(x, more=2):\n    return help(x) * more\n"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elsewhere", types.ModuleType("elsewhere"))


def test_the_same_code_has_the_same_hash_and_lines_of_its_own_file_do_not_count() -> None:
    assert reached_version([made(PLAIN)]) == reached_version([made("\n\n" + PLAIN)]) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [("1.5", "1.25"), ("1.5", "(1, 2)"), ("more=2", "more=3"), ("x + L", "x - L"), ("* more", "+ more")],
)
def test_whatever_compiled_code_has_inside_is_in_the_hash(old: str, new: str) -> None:
    assert reached_version([made(PLAIN)]) != reached_version([made(PLAIN.replace(old, new))])


AROUND = """
def help(x):
    return {}
def make(level):
    def rule(x):
        return [level + help(y) for y in x]
    return rule
rule = make({})
"""


def test_so_is_what_a_function_around_it_gave_it_and_one_written_inside_it() -> None:
    versions = {reached_version([made(AROUND.format(*values))]) for values in ("13", "14", "23", "24")}
    assert len(versions) == 4
    assert None not in versions


@pytest.mark.parametrize("value", ["object()", "elsewhere", "unknown"])
def test_what_can_not_be_told_apart_is_not_kept(value: str) -> None:
    level = "" if value == "unknown" else f"LEVEL = {value}\n"
    assert reached_version([made(f"import elsewhere\n{level}def rule(x):\n    return LEVEL\n")]) is None


def test_nothing_of_a_module_that_is_gone_is_kept() -> None:
    assert reached_version([made(PLAIN, "nowhere")]) is None
