"""Problems of version 0.1 are read as they were, written as they were, and have the letters that they had."""

import json
from pathlib import Path
from typing import Any

import pytest

from bestarm.problem import Problem

EXPORTS = json.loads((Path(__file__).parent / "service-0.1.0" / "exports.json").read_text(encoding="utf-8"))
BASE = {"name": "problem", "delta": 0.01, "epsilon": 0.1}
ARMS = [{"name": "A", "mean": 0.0}, {"name": "B", "mean": 1.0}]
# As version 0.1 has them.
OLD: list[tuple[dict[str, Any], str]] = [
    (EXPORTS["finished"]["problem"], "bbc345bd38c25921"),
    (EXPORTS["open"]["problem"], "ca167e4cd0a1dc34"),
    (EXPORTS["linear"]["problem"], "95a82de50bb323f3"),
    (BASE | {"reward_range": [-1.0, 2.0], "arm": ARMS}, "c48ec9b543ff68c3"),
]


@pytest.mark.parametrize(("table", "letters"), OLD)
def test_an_old_problem_is_what_it_was(table: dict[str, Any], letters: str) -> None:
    problem = Problem.from_dict(table)
    assert json.dumps(problem.to_dict()) == json.dumps(table)
    assert problem.fingerprint == letters
    assert problem.rewards == ("bounded" if "reward_range" in table else "normal")
    assert problem.goal == "highest"
