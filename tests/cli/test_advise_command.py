"""`bestarm advise`: which method, and what each would promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Call

from bestarm.comparison.advice import advise
from bestarm.methods import METHODS
from bestarm.problem import Problem


@pytest.mark.parametrize(
    ("text", "promising", "against"),
    [
        ("", {"sharp"}, {"lucb": "it needs sigma", "rage": "it needs features and sigma"}),
        ("sigma = 0.3\nsites = 'differ'", {"sharp"}, {"eb-tci": "it assumes that an arm's mean is the same"}),
        ("sigma = 0.3\nsites = 'alike'", {"sharp", "famabpe", "uniform"}, {"peeking": "there is no proof"}),
        ("rewards = 'yes-no'\nsites = 'alike'", {"sharp", "kl-lucb", "ugapec"}, {"rage": "it needs features"}),
    ],
)
def test_it_goes_by_what_the_problem_says(
    tmp_path: Path, call: Call, text: str, promising: set[str], against: dict[str, str]
) -> None:
    file = tmp_path / "problem.toml"
    file.write_text(f"name = 'ligands'\narms = ['A', 'B', 'C']\n{text}\n")
    code, printed, errors = call("advise", str(file), "--format", "json")
    assert (code, errors) == (0, "")
    found = json.loads(printed)
    rows = {row["method"]: row for row in found["methods"]}
    assert found["take"] == "sharp"
    assert set(rows) == set(METHODS)
    assert promising <= {name for name, row in rows.items() if row["promises"]}
    for name, words in against.items():
        assert not rows[name]["promises"]
        assert rows[name]["against"].startswith(words)
    code, printed, errors = call("advise", str(file))
    assert (code, errors) == (0, "")
    assert printed.startswith("Take sharp.\nThe test ")
    assert ("two-by-two" in printed) is ("yes-no" in text)


def test_every_method_says_when_to_take_it() -> None:
    assert all(one.when for one in advise(Problem(["A", "B"])))


def test_no_agents_are_a_sentence(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "problem.toml"
    file.write_text("arms = ['A', 'B']\n")
    code, _, errors = call("advise", str(file), "--agents", "0")
    assert (code, errors) == (2, "bestarm: agents is 0; it must be a whole number of at least 1.\n")
