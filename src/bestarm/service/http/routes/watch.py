"""What a study looks like from outside: status, stream, export, and the server's own numbers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bestarm.errors import Refused
from bestarm.service.http.events import TOGETHER, Page, follow
from bestarm.service.http.metrics import metrics
from bestarm.service.http.patiently import patiently, printed, shown
from bestarm.service.http.routes.describe import AgentName, StudyName, answers, text
from bestarm.service.http.service import Service
from bestarm.service.http.shapes.watch import ExportAnswer, LogAnswer, SiteDetailAnswer, StatusAnswer
from bestarm.service.storage.rows.log import together
from bestarm.service.storage.rows.tokens import Role, Token
from bestarm.service.storage.study.overview import Charter, Judged, Overview
from bestarm.service.view.exports.export import export_csv, export_json
from bestarm.service.view.paper.report_style import POLICY
from bestarm.service.view.said.ending import line
from bestarm.service.view.site import MOST_BATCHES, site
from bestarm.service.view.status import status

EVERYBODY = (Role.ADMIN, Role.VIEWER, Role.AGENT)
WATCHERS = (Role.ADMIN, Role.VIEWER)
MOST_LINES = 1_000
PATIENCE = 5.0  # seconds that the storage may take for the numbers of all studies
STREAM = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}  # the second tells nginx not to gather


def router(service: Service) -> APIRouter:
    """The routes that only read."""
    routes = APIRouter(tags=["watching"])
    storage, limits, access = service.storage, service.limits, service.access

    @routes.get(
        "/v1/studies/{study}/status",
        summary="Everything that a dashboard shows",
        responses=answers(StatusAnswer, 200, 401, 403, 404, 429),
    )
    async def show(request: Request, study: StudyName) -> Response:
        token = await access.allow(request, EVERYBODY, study)
        async with service.looking.of(token.id):
            overview = await service.look(study)
            return await shown(lambda: status(overview, storage.now(), limits.stale_after))

    @routes.get(
        "/v1/studies/{study}/events",
        summary="The log as it grows, as server-sent events",
        responses=answers(None, 200, 401, 403, 404, 422, 429)
        | text("text/event-stream", "A stream of events."),
    )
    async def events(
        request: Request,
        study: StudyName,
        after: Annotated[str, Query(description="Start after this position; Last-Event-ID wins.")] = "0",
        last_event_id: Annotated[str | None, Header(description="As a browser sends it.")] = None,
    ) -> Response:
        token = await access.allow(request, EVERYBODY, study)
        found = await service.study(study)
        place = last_event_id if last_event_id is not None else after
        if not (place.isascii() and place.isdigit() and len(place) < 16):
            raise Refused("after: it must be a position in the log, a whole number from 0.", "refused", 422)
        start = await service.look(study)
        service.streams.hold(request, token.id)
        return StreamingResponse(stream(found, token, int(place), start), 200, STREAM, "text/event-stream")

    async def stream(study: Charter, token: Token, after: int, start: Overview) -> AsyncIterator[str]:
        with service.hub.watch(study) as watch:
            yield ": following\n\n"
            # Uploads between the look and the watch are in this second look.
            start = await storage.look(study)
            page: Page = partial(read_page, study)
            async for events in follow(service.hub, watch, after, limits.keep_alive, start, page):
                if not await access.still(token):
                    return
                yield events or ": nothing new\n\n"

    async def read_page(study: Charter, place: int) -> list[Judged]:
        return await asyncio.to_thread(lambda: list(islice(storage.judged(study, place), TOGETHER)))

    @routes.get(
        "/v1/studies/{study}/log",
        summary="The last entries of the log, in sentences",
        responses=answers(LogAnswer, 200, 401, 403, 404, 422, 429),
    )
    async def lines(
        request: Request,
        study: StudyName,
        last: Annotated[str, Query(description="How many, at most 1000.")] = "50",
    ) -> Response:
        token = await access.allow(request, WATCHERS, study)
        if not (last.isascii() and last.isdigit() and len(last) < 16 and 1 <= int(last) <= MOST_LINES):
            raise Refused(f"last: it must be a whole number from 1 to {MOST_LINES}.", "refused", 422)
        async with service.looking.of(token.id):
            overview = await service.look(study)
            length = overview.length
            rows = storage.entries(overview.study, length, max(length - int(last), 0))
            return await shown(
                lambda: {"length": length, "entries": [line(row, overview.arms) for row in rows]}
            )

    @routes.get(
        "/v1/studies/{study}/sites/{agent}",
        summary="What a site is asked to do, and its last batches",
        responses=answers(SiteDetailAnswer, 200, 401, 403, 404, 429),
    )
    async def closely(request: Request, study: StudyName, agent: AgentName) -> Response:
        token = await access.allow(request, WATCHERS, study)

        def closer(overview: Overview) -> dict[str, Any]:
            rows = storage.batches(overview.study, agent, min(MOST_BATCHES, together(len(overview.arms))))
            return site(overview, agent, storage.last_plan(overview, agent), rows)

        async with service.looking.of(token.id):
            overview = await service.look(study)
            if agent not in overview.sites:
                raise Refused(f"no site {agent[:70]!r} has joined.", "unknown-site", 404)
            return await shown(lambda: closer(overview))

    @routes.get(
        "/v1/studies/{study}/export",
        summary="The whole log, to keep and to verify",
        responses=answers(ExportAnswer, 200, 401, 403, 404, 422, 429),
    )
    async def exported(
        request: Request,
        study: StudyName,
        format_: Annotated[str, Query(alias="format", description="json or csv")] = "json",
    ) -> Response:
        token = await access.allow(request, WATCHERS, study)
        if format_ not in ("json", "csv"):
            raise Refused(f"format is {format_[:20]!r}; it must be json or csv.", "refused", 422)
        service.exports.hold(request, token.id)
        overview = await service.look(study)
        if format_ == "csv":
            return patiently(export_csv(overview, storage), media_type="text/csv")
        return patiently(export_json(overview, storage), media_type="application/json")

    @routes.get(
        "/v1/studies/{study}/report",
        summary="The study on one page, to read, to print and to keep",
        responses=answers(None, 200, 401, 403, 404, 429)
        | text("text/html", "An HTML page that needs nothing else."),
    )
    async def reported(request: Request, study: StudyName) -> Response:
        from bestarm.service.view.paper.report import report  # few ask for it, and Jinja takes a moment

        token = await access.allow(request, WATCHERS, study)
        service.exports.hold(request, token.id)  # it reads as much, and takes longer
        overview = await service.look(study)

        def made() -> str:
            rows = storage.entries(overview.study, overview.length)
            return report(overview, rows, storage.now(), limits.stale_after)

        page = await printed(made)
        return Response(page, 200, {"Content-Security-Policy": POLICY}, "text/html")

    @routes.get(
        "/metrics",
        summary="Counts for Prometheus; a viewer sees its own study",
        responses=answers(None, 200, 401, 403, 429) | text("text/plain", "Prometheus text format."),
    )
    async def numbers(request: Request) -> Response:
        token = await access.allow(request, WATCHERS, away=True)
        found: tuple[list[Overview], int] | None = None
        untold: dict[tuple[int, bool], int] = {}
        if await service.readiness.missing() is None:
            with suppress(Refused, TimeoutError):  # it may go away just now, without a word
                async with asyncio.timeout(PATIENCE):
                    untold = await asyncio.to_thread(storage.untold)
                    found = await service.look_at(token)
        return Response(metrics(service, found, untold), media_type="text/plain; version=0.0.4")

    return routes
