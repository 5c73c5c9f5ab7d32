"""What all bodies have in common: named fields with words for each, checked where they are asked (`fit`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from bestarm.names import NAME, RULE, check_text

PATTERN = f"^{NAME.pattern}$"
TIME = "2026-01-02T03:04:05.678Z"
NAMED = f"{RULE[0].upper()}{RULE[1:]}."
Tally = dict[str, tuple[int, float] | tuple[int, float, float] | list[int | float | str | None]]


def _visible(text: str, info: ValidationInfo) -> str:
    return check_text(str(info.field_name), text)


Visible = Annotated[str, AfterValidator(_visible)]
REASON = Field(default="", max_length=500, examples=[""], description="Text of at most 500 letters: why.")
ID = Field(
    default=None,
    max_length=100,
    examples=["5f0c2b9a4d7e1830"],
    description="Text of at most 100 letters: the same again changes nothing.",
)


class Shape(BaseModel):
    """A body in which every field is named here.

    `…Body` is asked, and a refusal says that a field must be what its description says; `…Answer` is answered.
    """

    model_config = ConfigDict(extra="forbid")


class RefusalAnswer(Shape):
    """Why nothing was done, in one sentence and in one word."""

    error: str = Field(examples=["this token is unknown, expired or revoked; ask for another one."])
    code: str = Field(examples=["bad-token"])
