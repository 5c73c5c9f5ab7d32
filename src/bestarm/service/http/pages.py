"""The dashboard's files, with headers that let a browser load nothing else and talk to nobody else."""

from __future__ import annotations

from os import PathLike, stat_result

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from bestarm.service.view.paper import report_style

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": f"'self' {report_style.HASH}",  # the report's, which is opened from here
    "connect-src": "'self'",
    "img-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # keep it, and ask whether it has changed: pages and server fit together
}


class Pages(StaticFiles):
    """Static files under a strict policy."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD") and not self._has(path):
            raise HTTPException(404)  # for any method
        return await super().get_response(path, scope)

    def _has(self, path: str) -> bool:
        try:
            return self.lookup_path(path)[1] is not None
        except (OSError, ValueError):  # no file can be called so
            return False

    def file_response(
        self, full_path: str | PathLike[str], stat_result: stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response
