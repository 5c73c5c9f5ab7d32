"""What a site does: join a study, and upload."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bestarm.errors import Refused
from bestarm.protocol.entries import Join, Upload
from bestarm.service.http.bodies import answer, check_fields, read_object
from bestarm.service.http.routes import shapes
from bestarm.service.http.routes.describe import StudyName, answers
from bestarm.service.http.service import Service
from bestarm.service.storage.names import check_name
from bestarm.service.storage.tokens import Role

AGENT = (Role.AGENT,)


def router(service: Service) -> APIRouter:
    """The routes of agents."""
    routes = APIRouter(prefix="/v1", tags=["sites"])
    storage, limits, access = service.storage, service.limits, service.access

    @routes.post(
        "/studies/{study}/join",
        summary="Join a study, or ask again after a restart",
        responses=answers(shapes.Joined, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=shapes.body(shapes.Joining, required=False),
    )
    async def join(request: Request, study: StudyName) -> Response:
        token = await access.allow(request, AGENT, study)
        body = await read_object(request, limits.body, may_be_empty=True)
        check_fields(body, set(), {"journal"})
        journal = body.get("journal")
        if journal is not None:
            check_name("journal", journal)
        found = await service.study(study)
        agent = str(token.agent)
        sequence, reply = await storage.join(found, Join(agent, journal))
        method = found.method
        return answer(
            {
                "agent": agent,
                "sequence": sequence,
                "study": found.name,
                "problem": method.problem.to_dict(),
                "method": method.name,
                "parameters": dict(method.parameters),
                "agents": method.agents,
                "reply": reply.to_json(method.problem.arms),
            }
        )

    @routes.post(
        "/studies/{study}/uploads",
        summary="Upload a batch; again is harmless and gets the same answer",
        responses=answers(shapes.Uploaded, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=shapes.body(shapes.NewUpload),
    )
    async def upload(request: Request, study: StudyName) -> Response:
        token = await access.allow(request, AGENT, study)
        body = await read_object(request, limits.body)
        found = await service.study(study)
        if isinstance(body.get("tally"), dict) and len(body["tally"]) > limits.arms:
            raise Refused(f"tally: it names more than {limits.arms} arms.", "too-large", 413)
        message = Upload.from_json(body, found.problem)
        if message.agent != token.agent:
            sentence = (
                f"this token is for agent {token.agent!r}, and the upload is from {message.agent[:70]!r}."
            )
            raise Refused(sentence, "other-agent", 403)
        taken = await storage.take(found, message)
        reply = taken.reply.to_json(found.problem.arms)
        return answer({"position": taken.position, "reply": reply})

    return routes
