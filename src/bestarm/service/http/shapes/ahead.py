"""Bodies about a study that is thought of."""

from __future__ import annotations

from pydantic import Field

from bestarm.service.http.shapes.shape import Shape


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
