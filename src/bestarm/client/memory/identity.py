"""Whose journal it is, and how its site said that it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestarm.protocol.terms import Terms


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose journal it is: one agent of one study, on these terms. `problem` is all that the server said.

    The study keeps here the name that it was joined under, which goes on leading to it; `renamed` are names
    that it got later.
    """

    study: str
    agent: str
    terms: Terms
    problem: Mapping[str, Any]
    renamed: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that the study is known to have been called."""
        return (self.study, *self.renamed)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        body = {name: getattr(self, name) for name in self.__slots__} | {"terms": self.terms.to_json()}
        return body | {"renamed": list(self.renamed)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Identity:
        """The inverse of `to_json`, also where there is more beside it."""
        if not isinstance(value["problem"], dict):
            raise TypeError("problem is not an object")
        terms, renamed = Terms.from_json(value["terms"]), tuple(map(str, value.get("renamed", ())))
        return cls(str(value["study"]), str(value["agent"]), terms, value["problem"], renamed)


@dataclass(frozen=True, slots=True)
class Said:
    """How the site said it works: trials on a plate, None if that does not matter, and arms that it can't do.

    `number` counts how often it said so before; `plates` is how many batches it has in hand, and `room` how
    many trials it has under way at once, as was seen from what was asked for.
    """

    plate: int | None = None
    cannot: tuple[str, ...] = ()
    number: int = 0
    plates: int = 1
    room: int = 1
