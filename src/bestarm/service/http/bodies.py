"""Bodies in and out: JSON, UTF-8, whole numbers and floats that come back bit for bit."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bestarm.errors import Refused
from bestarm.service.http.fit import fit, may_be_empty
from bestarm.strict_json import CAREFUL, LONGEST_WHOLE, QUICK

LONG = re.compile(rf"[0-9]{{{LONGEST_WHOLE + 1}}}")
S = TypeVar("S", bound=BaseModel)
COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON; numbers that JSON does not have are a mistake of ours and fail here."""
    return answer_text(COMPACT.encode(body), status, headers)


def answer_text(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer that is JSON already."""
    return Response(text, status, headers, "application/json")


async def read_shape(request: Request, shape: type[S], most_bytes: int) -> S:
    """A request's body, checked by the shape that describes it."""
    raw = await read(request, most_bytes)
    return fit(shape, {} if may_be_empty(shape) and not raw.strip() else _object(raw))


async def read_object(request: Request, most_bytes: int) -> dict[str, Any]:
    """The JSON object in a request's body."""
    return _object(await read(request, most_bytes))


def _object(raw: bytes) -> dict[str, Any]:
    value = parse(raw)
    if not isinstance(value, dict):
        raise Refused("body: it must be a JSON object.", "not-json", 400)
    return value


async def read(request: Request, most_bytes: int) -> bytes:
    """The body, unless it is too long; one that is too slow ends with its connection."""
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > most_bytes:
                raise Refused(f"body: it is longer than {most_bytes} bytes.", "too-large", 413)
    except ClientDisconnect:
        raise Refused("body: the connection ended before it was complete.", "cut-off", 400) from None
    return bytes(raw)


def parse(raw: bytes) -> Any:
    """Strict JSON: UTF-8, no NaN, no name twice in an object, whole numbers of at most 19 digits.

    >>> parse(b'{"A": [3, 0.1]}')
    {'A': [3, 0.1]}
    >>> parse(b'{"A": 1, "A": 2}')
    Traceback (most recent call last):
    bestarm.errors.Refused: body: it is not JSON that can be used: 'A' appears twice in one object.
    """
    try:
        text = raw.decode("utf-8")
        value = (CAREFUL if LONG.search(text) else QUICK).decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a character, such as "\ud800"
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(f"body: it is not JSON that can be used: {reason}.", "not-json", 400) from None
    return value
