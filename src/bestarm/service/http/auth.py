"""Who is calling, and whether they may."""

from __future__ import annotations

import asyncio
import hmac
import math
import time

from starlette.requests import Request

from bestarm.errors import Refused
from bestarm.service.http.asking import ask
from bestarm.service.http.rates import Buckets
from bestarm.service.http.shares import Later, Shares
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import TOKEN, Role, Token, hash_of

REMEMBER = 1.0  # seconds that a token read from the storage is believed
MOST_REMEMBERED = 10_000
CALLER = "bestarm.caller"  # the extension of a request that comes from within this process: who sends it
PATIENCE = 2.0  # seconds that the storage may take, where its answer is not waited for


class Access:
    """Knows tokens. A token that another server process revokes stops working here within a second."""

    def __init__(self, storage: Storage, buckets: Buckets, requests: Shares) -> None:
        self._storage = storage
        self._buckets = buckets
        self._requests = requests
        self._known: dict[str, tuple[float, Token]] = {}

    async def who(self, request: Request, away: bool = False) -> Token:
        """The valid token that a request carries; refused without one, and when it calls too often.

        With `away`, a token that was valid is believed for as long as the storage does not answer.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Refused("a token is needed: send the header Authorization: Bearer TOKEN.", "no-token", 401)
        token = await self._find(hash_of(secret), away) if TOKEN.fullmatch(secret) else None
        if token is None or not token.valid(self._storage.now()):
            raise Refused("this token is unknown, expired or revoked; ask for another one.", "bad-token", 401)
        seconds = self._buckets.wait(token.id, time.monotonic())
        if seconds:
            whole = max(1, math.ceil(seconds))
            raise Later(f"too many calls with this token; wait {whole} s.", "too-fast", 429, whole)
        self._requests.hold(request, token.id)
        return token

    async def allow(
        self, request: Request, roles: tuple[Role, ...], study: str | None = None, away: bool = False
    ) -> Token:
        """The caller, if it has one of the roles and the study is its own, as all are the administrator's."""
        token = await self.who(request, away)
        if token.role not in roles:
            allowed = " or ".join(role.whose for role in roles)
            raise Refused(f"this needs {allowed} token, and this one is {token.role.whose}.", "role", 403)
        if token.role is not Role.ADMIN and study is not None and not await self._owns(token, study):
            raise Refused(f"this token is for study {token.study!r} only.", "other-study", 403)
        return token

    async def _owns(self, token: Token, study: str) -> bool:
        """Whether a token is for the study of this name, which may be one that the study had before."""
        if token.study == study:
            return True
        found = self._storage.known(study) or await ask(self._storage.find, study)
        return found is not None and found.id == token.study_id

    async def still(self, token: Token) -> bool:
        """Whether a caller that stays connected may stay; not if nobody can say, and it may come again."""
        try:
            found = await self._find(token.hash)
        except Refused:
            return False
        return found is not None and found.valid(self._storage.now())

    def forget(self, token_id: str) -> None:
        """Believe nothing about a token that was just revoked."""
        self._known = {hashed: known for hashed, known in self._known.items() if known[1].id != token_id}

    async def _find(self, hashed: str, away: bool = False) -> Token | None:
        read_at, token = self._known.get(hashed, (-math.inf, None))
        if time.monotonic() - read_at >= REMEMBER:
            began = time.monotonic()
            before = token if away else None
            try:
                async with asyncio.timeout(None if before is None else PATIENCE):
                    token = await ask(self._storage.token, hashed)
            except (Refused, TimeoutError):
                if before is None:
                    raise
                return before
            if token is None:
                self._known.pop(hashed, None)
                return None
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[hashed] = (began, token)
        assert token is not None
        return token if hmac.compare_digest(token.hash, hashed) else None


class Trusted(Access):
    """Whoever can open the storage needs no token for it: a request from within this process says who it is."""

    async def who(self, request: Request, away: bool = False) -> Token:
        token: Token = request.scope["extensions"][CALLER]
        return token

    async def still(self, token: Token) -> bool:
        return True

    async def _owns(self, token: Token, study: str) -> bool:
        return True
