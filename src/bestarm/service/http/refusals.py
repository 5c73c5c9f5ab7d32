"""Every refusal as JSON: one sentence and one word, whoever noticed."""

from __future__ import annotations

import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bestarm.errors import Refused, ServiceError, UserError
from bestarm.service.http.bodies import answer
from bestarm.service.http.notes import Notes
from bestarm.service.http.shares import Later, address_of
from bestarm.service.storage.kept.loader import Loading

log = logging.getLogger("bestarm.service")


def refuse(request: Request, error: Exception, notes: Notes) -> Response:
    """The answer to a request that a rule of ours refuses, or that failed."""
    if isinstance(error, UserError):
        code = error.code if isinstance(error, Refused) else "refused"
        notes.refused(code, address_of(request.scope), f"{request.method} {request.url.path}: {error}")
    if isinstance(error, Refused):
        headers = {}
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, Later | Loading):
            headers["Retry-After"] = str(error.seconds)
        return answer({"error": str(error), "code": error.code}, error.status, headers)
    if isinstance(error, UserError):
        return answer({"error": str(error), "code": "refused"}, 422)
    if isinstance(error, ServiceError):
        log.error("%s", error)
        return answer({"error": str(error), "code": "damaged"}, 503)
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer({"error": "the server made a mistake; its log says which.", "code": "failed"}, 500)


def refuse_in_json(app: FastAPI, notes: Notes) -> None:
    """Answer so whatever the application raises."""

    @app.exception_handler(UserError)
    @app.exception_handler(ServiceError)
    @app.exception_handler(Exception)
    async def refused(request: Request, error: Exception) -> Response:
        return refuse(request, error, notes)

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
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = allowed(request) or headers.get("Allow", "")
        notes.refused(code, address_of(request.scope), f"{request.method} {request.url.path}: {sentence}")
        return answer({"error": sentence, "code": code}, error.status_code, headers)


def allowed(request: Request) -> str:
    """What is possible at a request's address, whichever route does it."""
    path = request.url.path
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    methods = {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
