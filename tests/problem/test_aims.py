"""What is wanted of a study beside its promise: the goal, the sites, a control, a budget, a deadline."""

import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestarm.errors import UserError
from bestarm.problem import Problem

ARMS = ["A", "B"]
DAY = "it must be a day or a time, such as 2027-01-31 or 2027-01-31T18:00:00Z."
BAD: list[tuple[dict[str, Any], str]] = [
    ({"goal": "minimum"}, "goal is 'minimum'; it must be 'highest' or 'lowest'."),
    ({"goal": None}, "goal is None; it must be 'highest' or 'lowest'."),
    ({"sites": "same"}, "sites is 'same'; it must be 'differ' or 'alike'."),
    ({"control": "C"}, "control is 'C'; it must be the name of an arm."),
    ({"control": 1}, "control is 1; it must be the name of an arm."),
    ({"budget": 0}, "budget is 0; it must be a whole number of at least 1."),
    ({"budget": 1.5}, "budget is 1.5; it must be a whole number of at least 1."),
    ({"budget": True}, "budget is True; it must be a whole number of at least 1."),
    ({"deadline": "soon"}, f"deadline is 'soon'; {DAY}"),
    ({"deadline": "2027-02-30"}, f"deadline is '2027-02-30'; {DAY}"),
    ({"deadline": 20270131}, f"deadline is 20270131; {DAY}"),
    ({"items": 1}, "items is 1; it must be true or false."),
    (
        {"items": True, "epsilon": 0.1},
        "items is true, and with items only the best arm itself can be found; leave epsilon out.",
    ),
    ({"descriptions": ["a"]}, "descriptions has 1 items; it must have 2, one for each arm."),
    ({"descriptions": ["a", 2]}, "description of arm 'B' is 2; it must be text."),
]

WHOLE = """
name = "ligands"
arms = ["PPh3", "XPhos", "SPhos"]
delta = 0.05
epsilon = 0.0
goal = "lowest"
rewards = "normal"
sigma = 0.3
reward_range = [0.0, 1.0]
sites = "alike"
budget = 200
deadline = 2027-01-31
control = "PPh3"
items = false
"""


@pytest.mark.parametrize(("given", "sentence"), BAD)
def test_what_can_not_be_meant_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        Problem(ARMS, **given)
    assert str(caught.value) == sentence


def test_the_names_of_the_options_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "ligands.toml"
    path.write_text('arms = ["A", "B"]\n')
    problem = Problem.load(path)
    assert problem == Problem(ARMS, name="ligands") == Problem.from_dict({"name": "ligands", "arms": ARMS})
    assert (problem.rewards, problem.sigma, problem.goal, problem.sites) == (
        "normal",
        None,
        "highest",
        "differ",
    )
    assert (problem.control, problem.budget, problem.deadline, problem.descriptions) == (None, None, None, ())
    assert problem.to_dict() == {
        "name": "ligands",
        "delta": 0.05,
        "epsilon": 0.0,
        "arm": [{"name": "A"}, {"name": "B"}],
    }


def test_a_file_with_everything() -> None:
    problem = Problem.from_toml(WHOLE)
    assert (problem.goal, problem.sites, problem.control, problem.budget) == ("lowest", "alike", "PPh3", 200)
    assert problem.deadline == date(2027, 1, 31)
    for again in (
        Problem.from_dict(json.loads(json.dumps(problem.to_dict()))),
        pickle.loads(pickle.dumps(problem)),
    ):
        assert again == problem
        assert again.deadline == problem.deadline
        assert again.fingerprint == problem.fingerprint


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2027-01-31", date(2027, 1, 31)),
        (date(2027, 1, 31), date(2027, 1, 31)),
        ("2027-01-31T18:00:00Z", datetime(2027, 1, 31, 18, tzinfo=UTC)),
        ("2027-01-31 18:00", datetime(2027, 1, 31, 18, tzinfo=UTC)),
        (datetime(2027, 1, 31, 18), datetime(2027, 1, 31, 18, tzinfo=UTC)),
        ("2027-01-31T18:00+02:00", datetime(2027, 1, 31, 18, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_deadline_is_a_day_or_a_moment(given: Any, expected: date) -> None:
    problem = Problem(ARMS, deadline=given)
    assert problem.deadline == expected
    assert type(problem.deadline) is type(expected)
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))).deadline == expected


@pytest.mark.parametrize("text", ["2027-01-31", "2027-01-31T18:00:00Z", "2027-01-31T18:00:00"])
def test_a_deadline_in_toml_needs_no_quotes(text: str) -> None:
    arms = 'arms = ["A", "B"]\n'
    quoted = Problem.from_toml(f'{arms}deadline = "{text}"')
    assert Problem.from_toml(f"{arms}deadline = {text}") == quoted
    with pytest.raises(UserError, match=r"^deadline is datetime.time\(18, 0\); it must be a day or a time"):
        Problem.from_toml(f"{arms}deadline = 18:00:00")


def test_goal_and_sites_fix_the_statistics_and_the_rest_does_not() -> None:
    plain = Problem(ARMS, sigma=0.3).fingerprint
    assert plain == "18566d70caa08ade"  # as in the first version
    changes: list[dict[str, Any]] = [
        {"goal": "lowest"},
        {"sites": "alike"},
        {"goal": "lowest", "sites": "alike"},
    ]
    assert len({plain, *(Problem(ARMS, sigma=0.3, **change).fingerprint for change in changes)}) == 4
    same: list[dict[str, Any]] = [{"control": "B"}, {"budget": 9}, {"deadline": "2027-01-31"}]
    for change in [*same, {"descriptions": ["a", ""]}]:
        assert Problem(ARMS, sigma=0.3, **change).fingerprint == plain
        assert Problem(ARMS, sigma=0.3, **change) != Problem(ARMS, sigma=0.3)


def test_descriptions_are_kept_with_their_arms() -> None:
    text = '[[arm]]\nname = "A"\n[[arm]]\nname = "B"\ndescription = "the new one"\n'
    problem = Problem.from_toml(text)
    assert problem.descriptions == ("", "the new one")
    assert problem.to_dict()["arm"] == [{"name": "A"}, {"name": "B", "description": "the new one"}]
    assert problem.with_arm("C").descriptions == ("", "the new one", "")


def test_a_control_goes_with_its_arm() -> None:
    problem = Problem(["A", "B", "C"], control="B")
    assert problem.with_arm("D").control == "B"
    assert problem.without({"A"}).control == "B"
    assert problem.without({"B"}).control is None


def test_the_best_is_the_lowest_if_that_is_the_goal() -> None:
    means = [0.3, 0.1, 0.2, 0.1]
    names = list("ABCD")
    assert Problem(names, means=means).best == 0
    problem = Problem(names, means=means, goal="lowest")
    assert problem.best == 1
    np.testing.assert_array_equal(problem.merits(np.array(means)), [-0.3, -0.1, -0.2, -0.1])
