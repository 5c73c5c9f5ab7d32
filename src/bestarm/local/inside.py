"""The service within this process: the same routes, checks and sentences, without a port and without tokens."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import TimeoutError as TooLong
from getpass import getuser

import httpx
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from bestarm.errors import ServiceError
from bestarm.names import check_name
from bestarm.service.http.app import create_app
from bestarm.service.http.auth import CALLER, Trusted
from bestarm.service.http.service import Limits
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import Role, Token

_making = threading.Lock()  # pydantic can't read the shapes of routes in two threads at once


class Inside:
    """The application around a storage, on an event loop in a thread of its own.

    The storage is opened when it is first needed: one that is away is like a server that is.
    """

    def __init__(self, url: str | None) -> None:
        """`url` as for `Storage`: None is a storage in memory."""
        self._url = url
        self._lock = threading.Lock()
        self._storage: Storage | None = None
        self._app: FastAPI | None = None
        self._closed = False
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="bestarm-inside", daemon=True)
        self._thread.start()

    def site(self, agent: str, *, last: bool = False) -> Door:
        """A way in for a site of any study; the `last` door to be closed closes the storage."""
        check_name("agent", agent)
        return Door(self, Token(agent, "", Role.AGENT, None, None, agent, "", None, None), last)

    def owner(self, name: str | None = None, *, last: bool = False) -> Door:
        """A way in for whoever the storage belongs to, and may do everything; the log has them by this name."""
        return Door(self, Token(name or _login(), "", Role.ADMIN, None, None, None, "", None, None), last)

    def app(self, request: httpx.Request) -> FastAPI:
        """The application, for a request; whoever comes first opens the storage."""
        with self._lock:
            if self._closed:
                raise httpx.ConnectError("it was closed", request=request)
            if self._app is None:
                try:
                    self._storage = Storage(self._url)
                except ServiceError as error:
                    raise httpx.ConnectError(str(error).rstrip("."), request=request) from None
                with _making:
                    self._app = create_app(self._storage, Limits(rate=0), Trusted)
            return self._app

    def close(self) -> None:
        """Finish what was asked for, then let go of the storage. Again is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._finish(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
        if self._storage is not None:
            self._storage.close()

    async def _finish(self) -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*under_way, return_exceptions=True)
        await self.loop.shutdown_default_executor()


def _login() -> str:
    try:
        return getuser()
    except (OSError, KeyError):  # nobody that this machine has a name for
        return "owner"


class Door(httpx.BaseTransport):
    """Takes one caller's requests to the application; answers are read to their end."""

    def __init__(self, inside: Inside, caller: Token, last: bool) -> None:
        self._inside, self._caller, self._last = inside, caller, last

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        app = self._inside.app(request)
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())

        async def as_caller(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "extensions": {CALLER: self._caller}}, receive, send)

        async def answered() -> httpx.Response:
            answer = await httpx.ASGITransport(as_caller, raise_app_exceptions=False).handle_async_request(sent)
            body = await answer.aread()
            return httpx.Response(answer.status_code, headers=answer.headers, content=body)

        pending = asyncio.run_coroutine_threadsafe(answered(), self._inside.loop)
        try:
            return pending.result(request.extensions.get("timeout", {}).get("read"))
        except TooLong:  # it may still be done, as with any server; whatever is sent again counts once
            raise httpx.ReadTimeout("it took too long", request=request) from None

    def close(self) -> None:
        if self._last:
            self._inside.close()
