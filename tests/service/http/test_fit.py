"""The shapes that describe bodies check them too, and say in one sentence what does not fit."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from pydantic import Field

from bestarm.errors import Refused
from bestarm.service.http import shapes
from bestarm.service.http.fit import fit, may_be_empty
from bestarm.service.http.shapes.changes import ReasonBody
from bestarm.service.http.shapes.shape import Shape
from bestarm.service.http.shapes.sites import JoinBody
from bestarm.service.http.shapes.studies import PROBLEM, StudyBody
from bestarm.service.http.shapes.tokens import AdminTokenBody, TokenBody

MODULES = [import_module(f"{shapes.__name__}.{found.name}") for found in iter_modules(shapes.__path__)]
BODIES = [
    shape
    for module in MODULES
    for name, shape in vars(module).items()
    if name.endswith("Body") and shape.__module__ == module.__name__
]
STUDY = {"problem": PROBLEM, "agents": 4}
NAME = "1 to 64 letters A-Z or a-z, digits and . _ -, beginning with a letter or digit."
VALUES = "it must be an object of names, each with a finite number or a word."
SECONDS = "it must be a number of seconds above 0, at most ten years."


@pytest.mark.parametrize(
    ("shape", "body", "sentence"),
    [
        (StudyBody, {}, "body: it lacks problem."),
        (StudyBody, {"agents": 0}, "body: it lacks problem."),
        (
            StudyBody,
            STUDY | {"agents": 0, "x": 1},
            "body: it has 'x', which is not one of agents, earlier, method, parameters, problem.",
        ),
        (
            StudyBody,
            STUDY | {"problem": None},
            "problem is None; it must be an object, as Problem.to_dict makes it.",
        ),
        (StudyBody, STUDY | {"method": 1}, "method is 1; it must be a name such as sharp."),
        (
            StudyBody,
            STUDY | {"agents": True},
            "agents is True; it must be a whole number from 1 to 1000000.",
        ),
        (
            StudyBody,
            STUDY | {"agents": 4.0},
            "agents is 4.0; it must be a whole number from 1 to 1000000.",
        ),
        (StudyBody, STUDY | {"parameters": []}, f"parameters is []; {VALUES}"),
        (StudyBody, STUDY | {"parameters": {"a": [1]}}, f"parameters has 'a': [1]; {VALUES}"),
        (StudyBody, STUDY | {"parameters": {"a": True}}, f"parameters has 'a': True; {VALUES}"),
        (StudyBody, STUDY | {"parameters": {"a": float("inf")}}, f"parameters has 'a': inf; {VALUES}"),
        (TokenBody, {}, "body: it lacks role."),
        (TokenBody, {"role": "admin"}, "role is 'admin'; it must be agent or viewer."),
        (TokenBody, {"role": "agent"}, f"agent is None; it must be {NAME}"),
        (TokenBody, {"role": "agent", "agent": "a b"}, f"agent is 'a b'; it must be {NAME}"),
        (TokenBody, {"role": "agent", "agent": "lab-a\n"}, rf"agent is 'lab-a\n'; it must be {NAME}"),
        (
            TokenBody,
            {"role": "viewer", "agent": "lab-a"},
            "agent is given for a viewer; a viewer speaks for no agent, so leave it out.",
        ),
        (TokenBody, {"role": "viewer", "expires_in": 0}, f"expires_in is 0; {SECONDS}"),
        (AdminTokenBody, {"expires_in": "1"}, f"expires_in is '1'; {SECONDS}"),
        (AdminTokenBody, {"expires_in": 1e300}, f"expires_in is 1e+300; {SECONDS}"),
        (JoinBody, {"journal": 5}, f"journal is 5; it must be {NAME}"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(
    shape: type[Shape], body: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused) as refusal:
        fit(shape, body)
    assert (str(refusal.value), refusal.value.code, refusal.value.status) == (sentence, "refused", 422)


class Listing(Shape):
    names: list[str] = Field(description="A list of names.")


def test_what_does_not_fit_in_a_list_is_said_too() -> None:
    with pytest.raises(Refused, match=r"^names has 5; it must be a list of names\.$"):
        fit(Listing, {"names": ["a", 5]})


def test_values_stay_what_they_are() -> None:
    given = {"a": 1, "b": 1.0, "c": "1", "d": 0.1 + 0.2, "e": 2**62}
    study = fit(StudyBody, STUDY | {"parameters": given})
    assert {key: (type(value), value) for key, value in study.parameters.items()} == {
        key: (type(value), value) for key, value in given.items()
    }
    assert (study.problem, study.method) == (PROBLEM, "sharp")


def test_every_field_of_a_body_says_what_it_must_be() -> None:
    assert len(BODIES) == 12
    for shape in BODIES:
        for name, field in shape.model_fields.items():
            said = field.description or ""
            assert said[:1] != said[:1].lower() or said[:1].isdigit(), (shape, name)
            assert said.endswith("."), (shape, name)


def test_a_body_may_be_left_out_where_each_field_may() -> None:
    may = [shape for shape in BODIES if may_be_empty(shape)]
    assert may == [ReasonBody, JoinBody, AdminTokenBody]
