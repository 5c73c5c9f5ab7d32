"""What people call things: a unit, what an arm is, and which way is better, wherever somebody reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import bestarm
from bestarm.differences import in_percent
from bestarm.errors import UserError
from bestarm.protocol.terms import Terms
from bestarm.service.view.said.promise import promise

TEXT = """
unit = "mg/l"
goal = "lowest"
arms = "arms.csv"
"""


def test_unit_and_descriptions_come_from_files_and_go_to_sites(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(TEXT)
    (tmp_path / "arms.csv").write_text("name,description\nA,the usual one\nB,\n")
    problem = bestarm.Problem.load(tmp_path / "problem.toml")
    assert (problem.unit, problem.descriptions, problem.linear) == ("mg/l", ("the usual one", ""), False)
    assert bestarm.Problem.from_dict(problem.to_dict()) == problem
    method = bestarm.method("sharp", problem, 2)
    terms = Terms.of(method)
    assert (terms.unit, terms.goal, terms.descriptions) == ("mg/l", "lowest", {"A": "the usual one"})
    assert Terms.from_json(terms.to_json()) == terms
    assert terms.aim == problem.aim == "Rewards are in mg/l; lower is better."
    assert promise(method).splitlines()[1] == problem.aim


def test_words_are_no_part_of_the_statistics() -> None:
    plain = bestarm.Problem(["A", "B"])
    named = bestarm.Problem(["A", "B"], unit="%", descriptions=["a", "b"], budget=10, control="A")
    assert plain.fingerprint == named.fingerprint
    assert plain.to_dict().keys() == {"name", "delta", "epsilon", "arm"}  # what goes without saying is not said
    old = Terms.of(bestarm.method("sharp", plain, 2)).to_json()
    for key in ("goal", "unit", "descriptions"):
        del old[key]
    assert Terms.from_json(old).aim == "Higher is better."  # a journal that was written before


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("", "unit is ''; it must be one line of text without spaces around it."),
        (7, "unit is 7; it must be one line"),
        ("a\nb", "it must be one line of text"),
        ("% of theory, isolated", "it must be at most 20 letters long."),
    ],
)
def test_what_is_no_unit(unit: object, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        bestarm.Problem(["A", "B"], unit=unit)  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("difference", "base", "percent"),
    [
        (0.1, 0.8, 12.5),
        (-0.2, 0.8, -25.0),
        (0.1, 0.0, None),
        (0.1, -1.0, None),
        (0.1, None, None),
        (1.0, 1e-320, None),
    ],
)
def test_a_difference_in_percent_needs_a_base_above_0(
    difference: float, base: float | None, percent: float | None
) -> None:
    assert in_percent(difference, base) == (None if percent is None else pytest.approx(percent))
