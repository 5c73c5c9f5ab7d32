"""Beside a study: what it will take, before it is made, and an invitation as a picture."""

from __future__ import annotations

import asyncio
import io

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bestarm.service.http.bodies import answer, read_shape
from bestarm.service.http.routes.describe import answers, asks, text
from bestarm.service.http.service import Service
from bestarm.service.http.shapes.ahead import ExpectedAnswer, TextBody
from bestarm.service.http.shapes.studies import AheadBody
from bestarm.service.storage.rows import studies
from bestarm.service.storage.rows.tokens import Role
from bestarm.service.view.said.expected import expected


def router(service: Service) -> APIRouter:
    """The routes. One estimate at a time: it keeps a processor busy for some seconds."""
    routes = APIRouter(prefix="/v1", tags=["studies"])
    limits, one_at_a_time = service.limits, asyncio.Lock()

    @routes.post(
        "/estimate",
        summary="Check a study and say about how many experiments it will take, without making it",
        responses=answers(ExpectedAnswer, 200, 400, 401, 403, 413, 422, 429),
        openapi_extra=asks(AheadBody),
    )
    async def ahead(request: Request) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, AheadBody, limits.body)
        asked = body.problem, body.method, body.agents, body.parameters
        method = await asyncio.to_thread(studies.check_method, *asked, limits.arms, limits.body)
        async with one_at_a_time:
            return answer(await asyncio.to_thread(expected, method))

    @routes.post(
        "/qr",
        summary="A text as a QR code, to be shown to a telephone",
        responses=answers(None, 200, 400, 401, 403, 413, 422, 429) | text("image/svg+xml", "A picture."),
        openapi_extra=asks(TextBody),
    )
    async def drawn(request: Request) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, TextBody, limits.body)
        picture = await asyncio.to_thread(qr_code, body.text)
        return Response(picture, media_type="image/svg+xml", headers={"Cache-Control": "no-store"})

    return routes


def qr_code(words: str) -> bytes:
    """Black on white, whatever the theme: telephones want it so. Nothing of it is kept."""
    import segno

    picture = io.BytesIO()
    segno.make(words, micro=False, error="m").save(
        picture, kind="svg", border=3, light="#fff", xmldecl=False, nl=False
    )
    return picture.getvalue()
