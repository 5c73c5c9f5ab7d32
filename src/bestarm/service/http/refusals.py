"""Every refusal as JSON: one sentence and one word, whoever noticed."""

from __future__ import annotations

import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bestarm.errors import Refused, ServiceError, UserError
from bestarm.service.http.auth import TooFast
from bestarm.service.http.bodies import answer

log = logging.getLogger("bestarm.service")


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that a rule of ours refuses, or that failed."""
    if isinstance(error, Refused):
        headers = {}
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, TooFast):
            headers["Retry-After"] = str(error.seconds)
        return answer({"error": str(error), "code": error.code}, error.status, headers)
    if isinstance(error, UserError):
        return answer({"error": str(error), "code": "refused"}, 422)
    if isinstance(error, ServiceError):
        log.error("%s", error)
        return answer({"error": str(error), "code": "damaged"}, 503)
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer({"error": "the server made a mistake; its log says which.", "code": "failed"}, 500)


def refuse_in_json(app: FastAPI) -> None:
    """Answer so whatever the application raises."""

    @app.exception_handler(UserError)
    @app.exception_handler(ServiceError)
    @app.exception_handler(Exception)
    async def refused(request: Request, error: Exception) -> Response:
        return refuse(request, error)

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return answer({"error": f"{where}: {first['msg']}.", "code": "refused"}, 422)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        words = {404: ("there is nothing at this address.", "unknown-address")}
        words[405] = (f"{request.method} is not possible at this address.", "method")
        sentence, code = words.get(error.status_code, (f"{error.detail}.", "http"))
        return answer({"error": sentence, "code": code}, error.status_code, dict(error.headers or {}))
