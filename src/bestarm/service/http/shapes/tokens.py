"""Bodies about tokens."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from bestarm.errors import UserError
from bestarm.names import check_name
from bestarm.service.http.shapes.shape import NAMED, PATTERN, TIME, Shape
from bestarm.service.storage.rows.tokens import LONGEST

EXPIRES_IN = Field(
    default=None,
    gt=0,
    le=LONGEST,
    examples=[2592000],
    description="A number of seconds above 0, at most ten years.",
)


class TokenBody(Shape):
    """Who a token is for, an agent by its name or a viewer, and how long it lives."""

    role: Literal["agent", "viewer"] = Field(examples=["agent"], description="Agent or viewer.")
    agent: str | None = Field(default=None, pattern=PATTERN, examples=["lab-a"], description=NAMED)
    expires_in: float | None = EXPIRES_IN

    @model_validator(mode="after")
    def _who_has_a_name(self) -> Self:
        if self.role == "agent":
            check_name("agent", self.agent)
        elif self.agent is not None:
            raise UserError("agent is given for a viewer; a viewer speaks for no agent, so leave it out.")
        return self


class AdminTokenBody(Shape):
    """How long another administrator's token lives."""

    expires_in: float | None = EXPIRES_IN


class TokenAnswer(Shape):
    """What is known about a token."""

    id: str = Field(examples=["0a1b2c3d4e5f"])
    role: Literal["admin", "agent", "viewer"] = Field(examples=["agent"])
    study: str | None = Field(examples=["ligands"])
    agent: str | None = Field(examples=["lab-a"])
    created_at: str = Field(examples=[TIME])
    expires_at: str | None = Field(examples=[None])
    revoked_at: str | None = Field(examples=[None])


class NewTokenAnswer(TokenAnswer):
    """A new token; `token` is shown this once."""

    token: str = Field(examples=["…43 letters, shown once…"])


class TokensAnswer(Shape):
    """Tokens without their secrets."""

    tokens: list[TokenAnswer]
