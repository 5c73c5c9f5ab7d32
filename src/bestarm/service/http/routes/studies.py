"""Make, list, show, rename, archive and close studies, correct their batches, and let arms come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from bestarm.errors import Refused
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Restored
from bestarm.protocol.messages import tally_from_json, verdict_to_json
from bestarm.reward import counts_around
from bestarm.service.http.bodies import answer, read_shape
from bestarm.service.http.routes.describe import StudyName, answers, asks
from bestarm.service.http.service import Service
from bestarm.service.http.shapes.changes import (
    ArmBody,
    ChangedAnswer,
    CorrectionBody,
    ReasonBody,
    RenameBody,
    WithdrawBody,
)
from bestarm.service.http.shapes.studies import StudiesAnswer, StudyAnswer, StudyBody
from bestarm.service.storage import clock
from bestarm.service.storage.rows import studies
from bestarm.service.storage.rows.tokens import Role, new_id
from bestarm.service.storage.study.overview import Charter, Overview
from bestarm.service.view.said.ending import end, sentence
from bestarm.service.view.status import listed, study_object

ANYONE = (Role.ADMIN, Role.AGENT, Role.VIEWER)


def router(service: Service) -> APIRouter:
    """The routes under /v1/studies that are about a study as a whole."""
    routes = APIRouter(prefix="/v1", tags=["studies"])
    storage, limits = service.storage, service.limits

    async def shown(found: Awaitable[Overview], status: int = 200) -> Response:
        overview = await found
        return answer(await asyncio.to_thread(study_object, overview), status)

    @routes.post(
        "/studies",
        status_code=201,
        summary="Make a study",
        responses=answers(StudyAnswer, 201, 400, 401, 403, 409, 413, 422, 429),
        openapi_extra=asks(StudyBody),
    )
    async def create(request: Request) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, StudyBody, limits.body)
        asked = body.problem, body.method, body.agents, body.parameters
        method = await asyncio.to_thread(studies.check_method, *asked, limits.arms, limits.body)
        earlier = await asyncio.to_thread(studies.check_earlier, method, body.earlier)
        return await shown(storage.create(method, earlier), 201)

    @routes.get(
        "/studies",
        summary="The studies that you may see",
        responses=answers(StudiesAnswer, 200, 401, 422, 429),
    )
    async def every(
        request: Request,
        archived: Annotated[str, Query(description="true, and those that are archived are listed too.")] = "",
    ) -> Response:
        token = await service.access.who(request)
        if archived not in ("", "false", "true"):
            raise Refused(f"archived is {archived[:20]!r}; it must be true or false.", "refused", 422)
        found, _ = await service.look_at(token, archived == "true")
        now = clock.write(storage.now())
        return answer({"time": now, "studies": [listed(overview) for overview in found]})

    @routes.get(
        "/studies/{study}",
        summary="Show a study",
        responses=answers(StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def show(request: Request, study: StudyName) -> Response:
        await service.access.allow(request, ANYONE, study)
        return await shown(service.look(study))

    @routes.post(
        "/studies/{study}/close",
        summary="Take no more joins and uploads",
        responses=answers(StudyAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(ReasonBody),
    )
    async def close(request: Request, study: StudyName) -> Response:
        return await set_closed(request, study, True)

    @routes.post(
        "/studies/{study}/reopen",
        summary="Take joins and uploads again",
        responses=answers(StudyAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(ReasonBody),
    )
    async def reopen(request: Request, study: StudyName) -> Response:
        return await set_closed(request, study, False)

    @routes.post(
        "/studies/{study}/rename",
        summary="Call a study otherwise; its sites and tokens go on as they are",
        responses=answers(StudyAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(RenameBody),
    )
    async def rename(request: Request, study: StudyName) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, RenameBody, limits.body)
        return await shown(storage.rename(await service.study(study), body.name, token.who))

    @routes.post(
        "/studies/{study}/archive",
        summary="Leave a study out of the lists; all else goes on",
        responses=answers(StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def archive(request: Request, study: StudyName) -> Response:
        return await set_archived(request, study, True)

    @routes.post(
        "/studies/{study}/unarchive",
        summary="Put a study into the lists again",
        responses=answers(StudyAnswer, 200, 401, 403, 404, 429),
    )
    async def unarchive(request: Request, study: StudyName) -> Response:
        return await set_archived(request, study, False)

    async def set_archived(request: Request, name: str, archived: bool) -> Response:
        await service.access.allow(request, (Role.ADMIN,))
        return await shown(storage.set_archived(await service.study(name), archived))

    async def set_closed(request: Request, name: str, closed: bool) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, ReasonBody, limits.body)
        found = await service.study(name)
        return await shown(storage.set_closed(found, closed, token.who, body.reason))

    @routes.post(
        "/studies/{study}/arms",
        summary="Add an arm",
        responses=answers(ChangedAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(ArmBody),
    )
    async def add_arm(request: Request, study: StudyName) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, ArmBody, limits.body)
        found = await service.study(study)
        if len(storage.arms(found)) >= limits.arms:
            raise Refused(f"arm: this server takes at most {limits.arms} arms.", "refused", 422)
        features = None if body.features is None else tuple(body.features)
        entry = ArmAdded(body.id or new_id(), token.who, body.arm, features, body.reason)
        return await changed(found, entry)

    @routes.post(
        "/studies/{study}/arms/withdraw",
        summary="Withdraw an arm",
        responses=answers(ChangedAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(WithdrawBody),
    )
    async def withdraw_arm(request: Request, study: StudyName) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, WithdrawBody, limits.body)
        found = await service.study(study)
        return await changed(found, ArmWithdrawn(body.id or new_id(), token.who, body.arm, body.reason))

    @routes.post(
        "/studies/{study}/corrections",
        summary="Correct a batch; a site its own",
        responses=answers(ChangedAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(CorrectionBody),
    )
    async def correct(request: Request, study: StudyName) -> Response:
        token = await service.access.allow(request, (Role.ADMIN, Role.AGENT), study)
        body = await read_shape(request, CorrectionBody, limits.body)
        if token.role is Role.AGENT and body.agent != token.agent:
            raise Refused(f"this token is for agent {token.agent!r}, not {body.agent!r}.", "other-agent", 403)
        found = await service.study(study)
        centre, given = found.problem.centre, body.tally
        if body.counts is not None:
            given = counts_around(centre, body.counts)
        tally = await service.about_arms(found, lambda arms: tally_from_json(given, found.problem.name, arms))
        id = body.id or new_id()
        entry = Correction(id, token.who, body.agent, body.sequence, tally, body.reason)
        async with service.correcting.of(token.id):  # it may take minutes, and uploads do not wait for it
            return await changed(found, entry)

    @routes.post(
        "/studies/{study}/restored",
        summary="Say that the log was put back from a backup: sites send again what it has lost",
        responses=answers(ChangedAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(ReasonBody),
    )
    async def restored(request: Request, study: StudyName) -> Response:
        token = await service.access.allow(request, (Role.ADMIN,))
        body = await read_shape(request, ReasonBody, limits.body)
        return await changed(await service.study(study), Restored(new_id(), token.who, body.reason))

    async def changed(study: Charter, entry: ArmAdded | ArmWithdrawn | Correction | Restored) -> Response:
        position, overview = await storage.change(study, entry)
        ended = await asyncio.to_thread(end, overview)
        said: dict[str, Any] = {
            "position": position,
            "verdict": verdict_to_json(overview.verdict),
            "now": verdict_to_json(overview.now),
            "sentence": " ".join(filter(None, [sentence(entry), "" if ended is None else ended["later"]])),
        }
        return answer(said)

    return routes
