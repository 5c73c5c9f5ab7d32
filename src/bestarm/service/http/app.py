"""The HTTP application: routes, refusals as JSON, and the dashboard's files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestarm import __version__
from bestarm.protocol.version import VERSION
from bestarm.service.http.auth import Access
from bestarm.service.http.bodies import answer
from bestarm.service.http.headers import complete
from bestarm.service.http.pages import Pages
from bestarm.service.http.refusals import refuse_in_json
from bestarm.service.http.routes import ahead, sites, studies, tokens, watch
from bestarm.service.http.routes.describe import answers, describe
from bestarm.service.http.service import Limits, Service
from bestarm.service.http.shapes.server import HealthAnswer, ReadyAnswer
from bestarm.service.http.shares import HELD, give_back
from bestarm.service.http.shortcut import Shortcut
from bestarm.service.storage import Storage
from bestarm.service.storage.counters import Counters

DASHBOARD = Path(__file__).parents[1] / "dashboard"
UPLOADS = "/v1/studies/{study}/uploads"


def create_app(storage: Storage, limits: Limits | None = None, access: type[Access] = Access) -> FastAPI:
    """The application around a storage, which stays the caller's to close; `access` says who may call."""
    service = Service(storage, limits, access)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.hub.open()
        polling = asyncio.create_task(service.poll())
        yield
        service.hub.close()
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling

    app = App(
        title="bestarm",
        version=__version__,
        description="Several sites find the best of K options together, at their own pace, with a guarantee.",
        lifespan=lifespan,
        openapi_url=None,  # it is served below, to those with a token; the pages around it load from elsewhere
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    refuse_in_json(app, service.notes)

    @app.get("/healthz", summary="Whether the server answers", responses={200: {"model": HealthAnswer}})
    async def healthz() -> Response:
        return answer({"status": "ok", "version": __version__, "protocol": VERSION})

    @app.get(
        "/readyz",
        summary="Whether the server can do its work",
        responses=answers(ReadyAnswer, 200),
    )
    async def readyz() -> Response:
        missing = await service.readiness.missing()
        if missing is not None:
            return answer({"error": missing, "code": "not-ready"}, 503)
        return answer({"status": "ready", "version": __version__, "protocol": VERSION})

    @app.get("/openapi.json", summary="This description", responses=answers(None, 200, 401, 429))
    async def openapi(request: Request) -> Response:
        await service.access.who(request)
        return answer(app.openapi())

    for part in (sites, studies, ahead, tokens, watch):
        app.router.routes.extend(part.router(service).routes)  # one flat list, those of the sites first
    if (DASHBOARD / "index.html").is_file():
        app.router.default = Pages(directory=DASHBOARD, html=True)  # a mount would hide which methods there are
    uploads = next(route for route in app.routes if isinstance(route, APIRoute) and route.path == UPLOADS)
    app.shortcut = Shortcut(uploads, storage.counters, service.notes)
    app.add_middleware(Count, counters=storage.counters)
    return app


class App(FastAPI):
    """FastAPI with our description of the routes, a short way to one of them, and what every answer needs."""

    shortcut: Shortcut | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope[HELD] = []
        head, over = scope["method"] == "HEAD", False
        if head:
            scope = {**scope, "method": "GET"}  # all that can be got has a head

        async def sent(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start":
                complete(message)
            elif head:
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            if not over:
                over = head and message["type"] == "http.response.body"
                await send(message)

        try:
            if self.shortcut is None or not await self.shortcut.takes(scope, receive, sent):
                await super().__call__(scope, receive, sent)
        finally:
            give_back(scope)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = describe(self)
        return self.openapi_schema


class Count:
    """Counts every answer by route and status."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self.app = app
        self.counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "other")
                self.counters.requests[route, message["status"]] += 1
            await send(message)

        await self.app(scope, receive, counted)
