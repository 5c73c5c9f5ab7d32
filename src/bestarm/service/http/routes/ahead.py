"""What a study will take, before it is made."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bestarm.service.http.bodies import answer, read_shape
from bestarm.service.http.routes import shapes
from bestarm.service.http.routes.describe import answers
from bestarm.service.http.service import Service
from bestarm.service.storage import studies
from bestarm.service.storage.tokens import Role
from bestarm.service.view.expected import expected


def router(service: Service) -> APIRouter:
    """The route that looks ahead. One estimate at a time: it keeps a processor busy for some seconds."""
    routes = APIRouter(prefix="/v1", tags=["studies"])
    one_at_a_time = asyncio.Lock()

    @routes.post(
        "/estimate",
        summary="Check a study and say about how many experiments it will take, without making it",
        responses=answers(shapes.ExpectedAnswer, 200, 400, 401, 403, 413, 422, 429),
        openapi_extra=shapes.body(shapes.AheadBody),
    )
    async def ahead(request: Request) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, shapes.AheadBody, service.limits.body)
        asked = body.problem, body.method, body.agents, body.parameters
        method = await asyncio.to_thread(studies.check_method, *asked, service.limits.arms)
        async with one_at_a_time:
            return answer(await asyncio.to_thread(expected, method))

    return routes
