"""Make, list, show, close and reopen studies."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bestarm.service.http.bodies import answer, read_shape
from bestarm.service.http.routes import shapes
from bestarm.service.http.routes.describe import StudyName, answers
from bestarm.service.http.service import Service
from bestarm.service.storage import clock, studies
from bestarm.service.storage.tokens import Role
from bestarm.service.view.status import listed, study_object

ANYONE = (Role.ADMIN, Role.AGENT, Role.VIEWER)


def router(service: Service) -> APIRouter:
    """The routes under /v1/studies that are about a study as a whole."""
    routes = APIRouter(prefix="/v1", tags=["studies"])
    storage, limits = service.storage, service.limits

    @routes.post(
        "/studies",
        status_code=201,
        summary="Make a study",
        responses=answers(shapes.StudyAnswer, 201, 400, 401, 403, 409, 413, 422, 429),
        openapi_extra=shapes.body(shapes.StudyBody),
    )
    async def create(request: Request) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, shapes.StudyBody, limits.body)
        asked = body.problem, body.method, body.agents, body.parameters
        method = await asyncio.to_thread(studies.check_method, *asked, limits.arms)
        return answer(study_object(await storage.create(method)), 201)

    @routes.get(
        "/studies",
        summary="The studies that you may see",
        responses=answers(shapes.StudiesAnswer, 200, 401, 429),
    )
    async def every(request: Request) -> Response:
        token = await service.access.who(request)
        found, _ = await service.look_at(token)
        now = clock.write(storage.now())
        return answer({"time": now, "studies": [listed(overview) for overview in found]})

    @routes.get(
        "/studies/{study}",
        summary="Show a study",
        responses=answers(shapes.StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def show(request: Request, study: StudyName) -> Response:
        await service.access.allow(request, ANYONE, study)
        return answer(study_object(await service.look(study)))

    @routes.post(
        "/studies/{study}/close",
        summary="Take no more joins and uploads",
        responses=answers(shapes.StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def close(request: Request, study: StudyName) -> Response:
        return await set_closed(request, study, True)

    @routes.post(
        "/studies/{study}/reopen",
        summary="Take joins and uploads again",
        responses=answers(shapes.StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def reopen(request: Request, study: StudyName) -> Response:
        return await set_closed(request, study, False)

    async def set_closed(request: Request, name: str, closed: bool) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        found = await service.study(name)
        return answer(study_object(await storage.set_closed(found, closed, f"{token.role} {token.id}")))

    return routes
