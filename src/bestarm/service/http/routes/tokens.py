"""Make, list and revoke tokens."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bestarm.errors import ServiceError
from bestarm.service.http.bodies import answer, read_shape
from bestarm.service.http.routes.describe import StudyName, TokenId, answers, asks
from bestarm.service.http.service import Service
from bestarm.service.http.shapes.tokens import (
    AdminTokenBody,
    NewTokenAnswer,
    TokenAnswer,
    TokenBody,
    TokensAnswer,
)
from bestarm.service.storage.rows.tokens import Grant, Role, Token
from bestarm.service.storage.study.overview import Charter

ADMIN = (Role.ADMIN,)
log = logging.getLogger("bestarm.service")


def record(what: str, shown: dict[str, Any], by: Token) -> None:
    """Who gave or took a token, for the server's log; `shown` is what may be shown of it."""
    whose = shown["role"] if shown["agent"] is None else f"{shown['role']} {shown['agent']}"
    of = "" if shown["study"] is None else f" of study {shown['study']}"
    log.info("token %s (%s%s) was %s by %s %s", shown["id"], whose, of, what, by.role, by.id)


def router(service: Service) -> APIRouter:
    """The routes that give and take access; all but one are the administrator's."""
    routes = APIRouter(prefix="/v1", tags=["tokens"])
    storage, limits, access = service.storage, service.limits, service.access

    @routes.post(
        "/studies/{study}/tokens",
        status_code=201,
        summary="A token for an agent or a viewer of a study",
        responses=answers(NewTokenAnswer, 201, 400, 401, 403, 404, 413, 422, 429),
        openapi_extra=asks(TokenBody),
    )
    async def create(request: Request, study: StudyName) -> Response:
        by = await access.allow(request, ADMIN)
        body = await read_shape(request, TokenBody, limits.body)
        return await make(Grant(Role(body.role), body.agent, body.expires_in), await service.study(study), by)

    @routes.post(
        "/tokens",
        status_code=201,
        summary="Another administrator's token",
        responses=answers(NewTokenAnswer, 201, 400, 401, 403, 413, 422, 429),
        openapi_extra=asks(AdminTokenBody),
    )
    async def create_admin(request: Request) -> Response:
        by = await access.allow(request, ADMIN)
        body = await read_shape(request, AdminTokenBody, limits.body)
        return await make(Grant(Role.ADMIN, None, body.expires_in), None, by)

    async def make(grant: Grant, study: Charter | None, by: Token) -> Response:
        secret, shown = await storage.grant(grant, study, by.who)
        record("granted", shown, by)
        return answer({"token": secret} | shown, 201, {"Cache-Control": "no-store"})

    @routes.get(
        "/studies/{study}/tokens",
        summary="A study's tokens, without their secrets",
        responses=answers(TokensAnswer, 200, 401, 403, 404, 429),
    )
    async def every(request: Request, study: StudyName) -> Response:
        await access.allow(request, ADMIN)
        return await listed(await service.study(study))

    @routes.get(
        "/token",
        summary="What your own token is for",
        responses=answers(TokenAnswer, 200, 401, 429),
    )
    async def own(request: Request) -> Response:
        token = await access.who(request)
        # A token is believed for a moment; what its study is called now is known better.
        called = None if token.study is None else (await service.study(token.study)).name
        return answer(token.to_json() | {"study": called})

    @routes.get(
        "/tokens",
        summary="All tokens, without their secrets",
        responses=answers(TokensAnswer, 200, 401, 403, 429),
    )
    async def all_of_them(request: Request) -> Response:
        await access.allow(request, ADMIN)
        return await listed(None)

    async def listed(study: Charter | None) -> Response:
        tokens = await asyncio.to_thread(storage.tokens, study)
        return answer({"tokens": [token.to_json() for token in tokens]})

    @routes.delete(
        "/studies/{study}/tokens/{token_id}",
        summary="Revoke a study's token",
        responses=answers(TokenAnswer, 200, 401, 403, 404, 429),
    )
    async def revoke(request: Request, study: StudyName, token_id: TokenId) -> Response:
        by = await access.allow(request, ADMIN)
        return await revoked(token_id, await service.study(study), by)

    @routes.delete(
        "/tokens/{token_id}",
        summary="Revoke any token",
        responses=answers(TokenAnswer, 200, 401, 403, 404, 409, 429),
    )
    async def revoke_any(request: Request, token_id: TokenId) -> Response:
        by = await access.allow(request, ADMIN)
        return await revoked(token_id, None, by)

    async def revoked(token_id: str, study: Charter | None, by: Token) -> Response:
        token = await storage.revoke(token_id, study)
        access.forget(token.id)
        record("revoked", token.to_json(), by)
        if token.study is not None:
            try:
                await storage.note_revoked(token, await service.study(token.study), by.who)
            except ServiceError as error:  # its log is damaged, and the token is revoked all the same
                log.error("%s", error)
        return answer(token.to_json())

    return routes
