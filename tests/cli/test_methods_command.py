"""`bestarm methods`: everything from the records, and nothing forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from command import Call

from bestarm.methods import METHODS, SELECTIONS, TESTS, TRIGGERS
from bestarm.methods.registry import known_parameters

KNOWN: dict[str, Mapping[str, Any]] = {
    "methods": METHODS,
    "tests": TESTS,
    "selections": SELECTIONS,
    "triggers": TRIGGERS,
}


def test_it_lists_every_record_with_its_parameters(call: Call) -> None:
    code, printed, errors = call("methods")
    assert (code, errors) == (0, "")
    for name in (*METHODS, *TESTS, *SELECTIONS, *TRIGGERS, *known_parameters()):
        assert name in printed
    assert "stopping=rule-out or" in printed
    assert "thrift=balanced" in printed


def test_json_has_the_facts(call: Call) -> None:
    code, printed, errors = call("methods", "--format", "json")
    assert (code, errors) == (0, "")
    found = json.loads(printed)
    assert {kind: [row["name"] for row in rows] for kind, rows in found.items()} == {
        kind: list(known) for kind, known in KNOWN.items()
    }
    tests = {row["name"]: row["facts"] for row in found["tests"]}
    for name, test in TESTS.items():
        assert tests[name]["counts_agents"] == test.counts_agents
        assert tests[name]["linear"] == test.model.linear
        assert tests[name]["intervals"] == (test.radii is not None)
    sharp = next(row for row in found["methods"] if row["name"] == "sharp")
    parameters = {row["name"]: row for row in sharp["parameters"]}
    assert parameters["thrift"]["words"] == ["samples", "balanced", "messages"]
    assert parameters["min_batch"]["default"] == 1
    assert parameters["gamma"]["default"] is None  # it depends on arms and agents
    assert parameters["trigger"]["words"] == list(TRIGGERS)
    assert all(row["help"] and row["reference"] and row["summary"] for row in found["methods"])
    assert all(row["help"] for rows in found.values() for row in rows)
    assert all(part["help"] for rows in found.values() for row in rows for part in row["parameters"])


def test_one_in_full(call: Call) -> None:
    code, printed, errors = call("methods", "famabpe")
    assert (code, errors) == (0, "")
    assert "a method, federated; Wang et al., UAI 2024, Algorithm 1" in printed
    assert "1/(2·agents·arms)" in printed
    assert "famabpe: one of the tests" in printed  # a method and a test may have the same name
    assert "counts agents" in printed


@pytest.mark.parametrize("words", [("methods", "shrap"), ("methods", "")])
def test_a_name_that_nobody_has(call: Call, words: tuple[str, ...]) -> None:
    code, printed, errors = call(*words)
    assert (code, printed) == (2, "")
    assert "sharp, famabpe" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("command", ["simulate", "estimate", "compare", "study create"])
def test_help_of_set_points_there(call: Call, command: str) -> None:
    code, printed, _ = call(*command.split(), "--help")
    assert code == 0
    assert "bestarm methods" in " ".join(printed.split())
