"""Bodies about what people do to a study."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, FiniteFloat, model_validator

from bestarm.errors import UserError
from bestarm.service.http.shapes.shape import ID, NAMED, PATTERN, REASON, TIME, Shape, Visible
from bestarm.service.http.shapes.studies import VerdictAnswer


class RenameBody(Shape):
    """What a study is to be called from now on; the names that it had go on leading to it."""

    name: str = Field(pattern=PATTERN, examples=["ligands-2027"], description=NAMED)


class ReasonBody(Shape):
    """Why something is done."""

    reason: Visible = REASON


class ArmBody(Shape):
    """An arm that comes; with features where the others have some."""

    arm: Visible = Field(examples=["E"], description="A name.")
    features: list[FiniteFloat] | None = Field(
        default=None, examples=[None], description="A list of numbers, as long as those of the other arms."
    )
    reason: Visible = REASON
    id: Visible | None = ID


class WithdrawBody(Shape):
    """An arm that goes, for a reason that is not its rewards."""

    arm: str = Field(examples=["B"], description="The name of an arm.")
    reason: Visible = REASON
    id: Visible | None = ID


class CorrectionBody(Shape):
    """What a batch should have said."""

    agent: str = Field(pattern=PATTERN, examples=["lab-a"], description=NAMED)
    sequence: int = Field(ge=1, le=2**53, examples=[1], description="A whole number from 1.")
    tally: dict[str, Any] | None = Field(
        default=None,
        examples=[{"A": [3, 1.25], "B": [2, 0.5]}],
        description="An object, like the tally of the upload.",
    )
    counts: dict[str, list[Any]] | None = Field(
        default=None,
        examples=[None],
        description="An object of arm: [pulls, sum, squares] with plain sums, in the place of the tally.",
    )
    reason: Visible = REASON
    id: Visible | None = ID

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.tally is None) == (self.counts is None):
            raise UserError("tally: say what the batch should have said, as tally or as counts.")
        return self


class ChangedAnswer(Shape):
    """Where a change stands in the log, and what the study says with it."""

    position: int
    verdict: VerdictAnswer
    now: VerdictAnswer = Field(description="What the data say; the verdict stays once the study is over.")
    sentence: str


class EventAnswer(Shape):
    """What was done to a study, and by whom."""

    position: int
    kind: str
    by: str
    sentence: str
    at: str = Field(examples=[TIME])
