"""A body in the shape that describes it, or one sentence that says where it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bestarm.errors import Refused
from bestarm.reward import show

S = TypeVar("S", bound=BaseModel)


def may_be_empty(shape: type[BaseModel]) -> bool:
    """Whether a body may be left out, since each of its fields may."""
    return not any(field.is_required() for field in shape.model_fields.values())


def fit(shape: type[S], body: Mapping[str, Any]) -> S:
    """The body as its shape. What a field must be is what its description says.

    >>> from bestarm.service.http.shapes.tokens import AdminTokenBody
    >>> fit(AdminTokenBody, {"expires_in": 60}).expires_in
    60.0
    >>> fit(AdminTokenBody, {"expires_in": "60"})
    Traceback (most recent call last):
    bestarm.errors.Refused: expires_in is '60'; it must be a number of seconds above 0, at most ten years.
    """
    try:
        return shape.model_validate(body, strict=True)
    except ValidationError as error:
        raise Refused(_sentence(shape, error.errors(include_url=False)), "refused", 422) from None


def _sentence(shape: type[BaseModel], errors: list[ErrorDetails]) -> str:
    missing, unknown = (
        sorted(str(error["loc"][0]) for error in errors if error["type"] == kind)
        for kind in ("missing", "extra_forbidden")
    )
    if missing:
        return f"body: it lacks {', '.join(missing)}."
    if unknown:
        return f"body: it has {unknown[0][:40]!r}, which is not one of {', '.join(sorted(shape.model_fields))}."
    first = errors[0]
    if first["type"] == "value_error":  # a rule that has its own sentence
        return str(first["ctx"]["error"])
    name = str(first["loc"][0])
    said = shape.model_fields[name].description or ""
    match first["loc"]:
        case (_, str() as key, *_):
            found = f"has {key[:40]!r}: {show(first['input'])}"
        case (_, int(), *_):
            found = f"has {show(first['input'])}"
        case _:
            found = f"is {show(first['input'])}"
    return f"{name} {found}; it must be {said[:1].lower()}{said[1:]}"
