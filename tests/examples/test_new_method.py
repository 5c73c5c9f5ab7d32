"""examples/new-method: rules of one's own run in both engines and by the commands, and answer right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module

import pytest
from example import EXAMPLES, run_example
from outside import forgotten

from bestarm.testing import check_method, check_test

FOUND = re.compile(r"(\w+) +samples +(\d+) ± \d+ .*wrong (\d+) of 40")


def test_rules_of_ones_own_are_compared_with_sharp() -> None:
    found = FOUND.findall(run_example("new-method/run.py", "--runs", "40"))
    samples = {name: int(mean) for name, mean, _ in found}
    assert list(samples) == ["sharp", "racing", "evenly", "apart"]
    assert samples["racing"] < samples["evenly"]
    # delta is 0.05: 8 or more wrong ones among 40 have a probability below 0.001
    assert all(int(wrong) < 8 for _, _, wrong in found)


@pytest.mark.slow
def test_they_pass_the_suites() -> None:
    with forgotten():
        sys.path.append(str(EXAMPLES / "new-method"))
        import_module("racing")
        check_test("apart")
        check_method("apart")
        check_method("racing")


@pytest.mark.slow
def test_compiled_the_script_runs_too() -> None:
    words = ("--runs", "40", "--engine", "events", "--methods", "apart")
    ((name, _, wrong),) = FOUND.findall(run_example("new-method/run.py", *words))
    assert name == "apart"
    assert int(wrong) < 8


def test_the_variable_brings_them_to_the_commands() -> None:
    environment = os.environ | {"BESTARM_PLUGINS": str(EXAMPLES / "new-method" / "racing.py")}
    words = "simulate --method apart --set mixture=30 --means 0.9,0.4 --sigma 0.3 --runs 5 --engine rounds"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "bestarm", *words.split()],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "apart on problem" in done.stdout
    assert "mixture=30" in done.stdout
