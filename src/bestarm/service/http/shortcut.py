"""A short way to the one route that sites call all day: FastAPI's own costs as much as the upload."""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bestarm.service.http.notes import Notes
from bestarm.service.http.refusals import refuse
from bestarm.service.storage.counters import Counters


class Shortcut:
    """Calls a route's endpoint, which takes the request and the parameters of its path and nothing else."""

    def __init__(self, route: APIRoute, counters: Counters, notes: Notes) -> None:
        self.route = route
        self.methods = route.methods or set()
        self.counters = counters
        self.notes = notes

    async def takes(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request if it is for the route; False, and nothing was done, if it is not."""
        if scope["type"] != "http" or scope["method"] not in self.methods:
            return False
        found = self.route.path_regex.match(scope["path"])
        if found is None:
            return False
        request = Request(scope, receive, send)
        try:
            response: Response = await self.route.endpoint(request, **found.groupdict())
        except Exception as error:
            response = refuse(request, error, self.notes)
        self.counters.requests[self.route.path, response.status_code] += 1
        await response(scope, receive, send)
        return True
