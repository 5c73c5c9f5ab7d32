"""The OpenAPI description of the routes: parameters, answers, refusals, and the token that they need."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Path
from fastapi.openapi.utils import get_openapi

from bestarm.service.http.fit import may_be_empty
from bestarm.service.http.shapes.shape import RefusalAnswer, Shape

StudyName = Annotated[str, Path(description="The study's name.", examples=["ligands"])]
AgentName = Annotated[str, Path(description="The site's name.", examples=["lab-a"])]
TokenId = Annotated[str, Path(description="The token's id, not the token.", examples=["0a1b2c3d4e5f"])]

REASONS = {
    400: "The body is not JSON.",
    401: "There is no valid token.",
    403: "The token is for somebody else.",
    404: "There is no such study, site or token.",
    408: "The body took too long to arrive.",
    409: "It does not fit what is there: the study exists or is closed, or an upload is missing or differs.",
    413: "The body is too large.",
    422: "Something in the body or in the address can't be used.",
    429: "Too many calls with this token; Retry-After says how long to wait.",
    503: "The storage can't be reached, the study is being loaded, or its log is damaged; nothing was changed.",
}


def asks(shape: type[Shape]) -> dict[str, Any]:
    """The OpenAPI description of a request body."""
    schema = shape.model_json_schema()
    example = {
        name: field["examples"][0] for name, field in schema["properties"].items() if "examples" in field
    }
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": not may_be_empty(shape), "content": content}}


def answers(shape: type[Shape] | None, success: int, *refusals: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: its own shape, and the refusals that it can give."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"model": RefusalAnswer, "description": REASONS[status]}
        for status in (*refusals, *((408,) if 413 in refusals else ()), 503)
    }
    if shape is not None:
        described[success] = {"model": shape, "description": (shape.__doc__ or "").strip()}
    return described


def text(media_type: str, description: str) -> dict[int | str, dict[str, Any]]:
    """A successful answer that is not JSON."""
    return {200: {"description": description, "content": {media_type: {"schema": {"type": "string"}}}}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description; every route but two needs a token."""
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path in ("/healthz", "/readyz"):
        document["paths"][path]["get"]["security"] = []
    return document
