"""How many requests, streams and exports may be under way: in all, from one address, and with one token."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import Scope

from bestarm.errors import Refused

HELD = "bestarm.held"  # in a request's scope: how to give its places back; empty if nobody known is calling


class Later(Refused):
    """A call that may be made again; `seconds` is how long to wait."""

    def __init__(self, sentence: str, code: str, status: int, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(sentence, code, status)


@dataclass(slots=True)
class Shares:
    """The places of one kind; 0 is no limit.

    >>> exports = Shares("exports", most=3, by_token=1)
    >>> exports.take("10.0.0.7", "viewer-1")
    >>> exports.take("10.0.0.7", "viewer-1")
    Traceback (most recent call last):
    bestarm.service.http.shares.Later: too many exports with this token are under way; wait for one to end.
    >>> exports.leave("10.0.0.7", "viewer-1")
    >>> exports.take("10.0.0.7", "viewer-1")
    """

    what: str
    most: int = 0
    by_address: int = 0
    by_token: int = 0
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def under_way(self) -> int:
        """How many there are in all."""
        return self.taken["", ""]

    def hold(self, request: Request, token: str) -> None:
        """Take a place until the request is over; refused if there is none."""
        address = address_of(request.scope)
        self.take(address, token)
        held: list[Callable[[], None]] = request.scope[HELD]
        held.append(lambda: self.leave(address, token))

    def take(self, address: str, token: str) -> None:
        """Take a place; refused if there is none."""
        for key, most, whose, status in (
            (("token", token), self.by_token, " with this token", 429),
            (("address", address), self.by_address, " from this address", 429),
            (("", ""), self.most, "", 503),
        ):
            if 0 < most <= self.taken[key]:
                code = f"{self.what}-{key[0]}" if key[0] else self.what
                sentence = f"too many {self.what}{whose} are under way; wait for one to end."
                raise Later(sentence, code, status, 5)
        self.taken.update(self._keys(address, token))

    def leave(self, address: str, token: str) -> None:
        """Give a place back."""
        for key in self._keys(address, token):
            self.taken[key] -= 1
            if not self.taken[key]:
                del self.taken[key]

    @staticmethod
    def _keys(address: str, token: str) -> tuple[tuple[str, str], ...]:
        return ("", ""), ("address", address), ("token", token)


def give_back(scope: Scope) -> None:
    """The request is over."""
    while scope[HELD]:
        scope[HELD].pop()()


def address_of(scope: Scope) -> str:
    """The caller's address; behind a proxy that is believed, the one that it names."""
    client = scope.get("client")
    return neighbourhood(client[0]) if client else "?"


def neighbourhood(address: str) -> str:
    """What counts as one address: in IPv6 the network of 64 bits that a household gets.

    >>> neighbourhood("10.0.0.7"), neighbourhood("2001:db8:0:1:aaaa::5"), neighbourhood("::ffff:10.0.0.7")
    ('10.0.0.7', '2001:db8:0:1::/64', '::ffff:10.0.0.7')
    """
    import ipaddress

    if ":" not in address or address.startswith("::ffff:"):
        return address
    try:
        return str(ipaddress.IPv6Network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address[:100]
