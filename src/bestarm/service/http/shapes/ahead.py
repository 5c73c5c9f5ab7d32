"""Bodies about a study that is thought of."""

from __future__ import annotations

from typing import Any

from pydantic import Field, FiniteFloat

from bestarm.service.http.shapes.shape import Shape
from bestarm.service.http.shapes.studies import PROBLEM
from bestarm.service.storage.rows.studies import MOST_AGENTS


class AheadBody(Shape):
    """A study that is thought of."""

    problem: dict[str, Any] = Field(examples=[PROBLEM], description="An object, as Problem.to_dict makes it.")
    method: str = Field(default="sharp", examples=["sharp"], description="A name such as sharp.")
    agents: int | None = Field(
        default=None,
        ge=1,
        le=MOST_AGENTS,
        examples=[3],
        description=f"A whole number from 1 to {MOST_AGENTS}.",
    )
    parameters: dict[str, int | FiniteFloat | str] = Field(
        default={},
        examples=[{}],
        description="An object of names, each with a finite number or a word.",
    )


class TextBody(Shape):
    """A text, such as a link."""

    text: str = Field(
        min_length=1,
        max_length=500,
        examples=["https://bestarm.example/#/join/ligands/…"],
        description="Text of 1 to 500 letters.",
    )


class ExpectedRow(Shape):
    """What to expect if the best arm is better than the others by `gap`."""

    gap: float
    mean: float = Field(description="Samples of all sites together.")
    low: int = Field(description="Nineteen of twenty studies take more.")
    high: int = Field(description="Nineteen of twenty studies take fewer.")
    sentence: str


class ExpectedAnswer(Shape):
    """About how many experiments a study will take, from few simulated runs."""

    runs: int
    rows: list[ExpectedRow]
    late: bool = Field(description="Whether there was no time for all of them.")
