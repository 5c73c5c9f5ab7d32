"""What the server says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bestarm.service.http.shapes.shape import Shape


class Versions(Shape):
    """What runs."""

    version: str = Field(examples=["0.2.0"])
    protocol: int = Field(examples=[2], description="The version of the protocol that sites must speak.")


class HealthAnswer(Versions):
    """The server answers."""

    status: Literal["ok"]


class ReadyAnswer(Versions):
    """The server can do its work: the storage answers."""

    status: Literal["ready"]
