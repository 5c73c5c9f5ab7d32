"""A short way to the one route that sites call all day: FastAPI's own costs as much as the upload."""

from __future__ import annotations

from collections.abc import Callable

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bestarm.errors import ServiceError, UserError


class Shortcut:
    """Calls a route's endpoint with the request and the parameters of its path; `refuse` answers refusals."""

    def __init__(self, app: ASGIApp, route: APIRoute, refuse: Callable[[Exception], Response]) -> None:
        self.app = app
        self.route = route
        self.refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] in (self.route.methods or ()):
            found = self.route.path_regex.match(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = self.route
        try:
            response: Response = await self.route.endpoint(Request(scope, receive, send), **found.groupdict())
        except (UserError, ServiceError) as error:
            response = self.refuse(error)
        await response(scope, receive, send)
