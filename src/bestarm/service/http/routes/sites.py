"""What a site does: join a study, and upload."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from bestarm import __version__
from bestarm.errors import Refused
from bestarm.protocol.entries import Join
from bestarm.protocol.messages import Download, Stop, upload_from_json
from bestarm.protocol.terms import Terms
from bestarm.protocol.version import HEADER, VERSION, check_site
from bestarm.service.http.bodies import COMPACT, answer, answer_text, read_object, read_shape
from bestarm.service.http.patiently import shown
from bestarm.service.http.routes.describe import StudyName, answers, asks
from bestarm.service.http.service import Service
from bestarm.service.http.shapes.sites import JoinAnswer, JoinBody, ReceiptsAnswer, UploadAnswer, UploadBody
from bestarm.service.storage.rows.log import together
from bestarm.service.storage.rows.tokens import Role
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.checks import checks_of

AGENT = (Role.AGENT,)
MOST_RECEIPTS = 100
SPOKEN = {
    "parameters": [
        {
            "name": HEADER,
            "in": "header",
            "required": True,
            "schema": {"type": "string", "const": str(VERSION)},
            "description": "The version of the protocol that the site speaks.",
        }
    ]
}


class Replies:
    """The JSON of replies. Those that a commit answers mostly get the same one, so the last is kept."""

    def __init__(self) -> None:
        self._last: Download | Stop | None = None
        self._text = ""

    def text(self, reply: Download | Stop, study: Charter) -> str:
        """The reply as JSON."""
        if reply is not self._last:
            self._last, self._text = reply, COMPACT.encode(reply.to_json(study.problem.arms))
        return self._text


def router(service: Service) -> APIRouter:
    """The routes of agents."""
    routes = APIRouter(prefix="/v1", tags=["sites"])
    storage, limits, access, replies = service.storage, service.limits, service.access, Replies()

    @routes.post(
        "/studies/{study}/join",
        summary="Join a study, or ask again after a restart",
        responses=answers(JoinAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(JoinBody) | SPOKEN,
    )
    async def join(request: Request, study: StudyName) -> Response:
        token = await access.allow(request, AGENT, study)
        check_site(request.headers.get(HEADER), __version__)
        body = await read_shape(request, JoinBody, limits.body)
        found = await service.study(study)
        entry = Join(
            str(token.agent), body.journal, body.plate, tuple(body.cannot), body.number, body.plates, body.room
        )
        async with service.joining.of(token.id):
            sequence, reply = await storage.join(found, entry)
        method = found.method
        terms = Terms.of(method)
        return answer(
            {
                "protocol": VERSION,
                "agent": entry.agent,
                "sequence": sequence,
                "study": found.name,
                "problem": method.problem.to_dict(),
                "method": method.name,
                "parameters": dict(method.parameters),
                "agents": method.agents,
                "terms": terms.to_json(),
                "checks": checks_of(terms),
                "reply": reply.to_json(method.problem.arms),
                "restored": storage.restored(found),
            }
        )

    @routes.post(
        "/studies/{study}/uploads",
        summary="Upload a batch; again is harmless and gets the same answer",
        responses=answers(UploadAnswer, 200, 400, 401, 403, 404, 409, 413, 422, 429),
        openapi_extra=asks(UploadBody) | SPOKEN,
    )
    async def upload(request: Request, study: StudyName) -> Response:
        token = await access.allow(request, AGENT, study)
        check_site(request.headers.get(HEADER), __version__)
        body = await read_object(request, limits.body)
        found = await service.study(study)
        if isinstance(body.get("tally"), dict) and len(body["tally"]) > limits.arms:
            raise Refused(f"tally: it names more than {limits.arms} arms.", "too-large", 413)
        message = await service.about_arms(found, lambda arms: upload_from_json(body, found.problem, arms))
        if message.agent != token.agent:
            sentence = (
                f"this token is for agent {token.agent!r}, and the upload is from {message.agent[:70]!r}."
            )
            raise Refused(sentence, "other-agent", 403)
        taken = await storage.take(found, message)
        return answer_text(
            f'{{"position":{taken.position},"entry":{taken.entry},"digest":"{taken.digest}",'
            f'"reply":{replies.text(taken.reply, found)}}}'
        )

    @routes.get(
        "/studies/{study}/receipts",
        summary="Where your uploads stand in the log",
        responses=answers(ReceiptsAnswer, 200, 401, 403, 404, 422, 429),
    )
    async def receipts(
        request: Request,
        study: StudyName,
        after: Annotated[str, Query(description="Those after this sequence.")] = "0",
    ) -> Response:
        token = await access.allow(request, AGENT, study)
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise Refused("after: it must be a sequence, a whole number from 0.", "refused", 422)
        agent, found = str(token.agent), await service.study(study)
        most = min(MOST_RECEIPTS, together(len(storage.arms(found))))

        def listed() -> dict[str, Any]:
            rows = storage.receipts(found, agent, int(after), most)
            return {"agent": agent, "uploads": [_receipt(row) for row in rows]}

        async with service.looking.of(token.id):
            return await shown(listed)

    return routes


def _receipt(row: Any) -> dict[str, Any]:
    return {
        "sequence": row.sequence,
        "entry": row.position,
        "digest": row.digest,
        "received_at": row.received_at,
        "tally": json.loads(row.body)["tally"],
    }
