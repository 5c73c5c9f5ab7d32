"""Listens: binds the port, says so once it is true, and stops in good order when told to."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from bestarm.errors import ServiceError, UserError
from bestarm.service.http.connections.files import BACKLOG
from bestarm.service.http.connections.handshake import Handshake
from bestarm.service.http.connections.wire import Wire
from bestarm.service.http.service import Service

GRACE = 10  # seconds that open requests get to finish


class Listener(uvicorn.Server):
    """uvicorn, but it tells when it listens, first ends what would not end by itself, and exits with 0."""

    def __init__(
        self, config: uvicorn.Config, listening: Callable[[], None], ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()  # streams and half-sent bodies do not end by themselves, and uvicorn waits for them
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and SIGINT; a second SIGINT does not wait for open requests."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listen(
    app: FastAPI,
    bound: socket.socket,
    host: str,
    *,
    listening: Callable[[str], None],
    certificate: Path | None = None,
    key: Path | None = None,
    proxies: str | None = None,
    access_log: bool = False,
) -> None:
    """Serve the application until SIGTERM or SIGINT; `listening` gets the URL once connections are accepted."""
    config = uvicorn.Config(
        app,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        http=Wire if certificate is None else Handshake,
        loop="auto" if certificate is None else "asyncio",  # see `Handshake`
        backlog=BACKLOG,
        ws="none",
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        files = f"{certificate} and {key}"
        raise UserError(f"TLS: certificate and key can't be used ({files}): {error}.") from None
    scheme = "https" if config.is_ssl else "http"
    shown = f"[{host}]" if ":" in host else host
    url = f"{scheme}://{shown}:{bound.getsockname()[1]}"
    service: Service = app.state.service
    service.tls, config.ssl = config.ssl, None  # each connection begins it by itself, and is counted before

    def ending() -> None:
        service.hub.close()
        service.door.close()

    gc.freeze()  # what was made so far lives as long as the server: not to be looked through for garbage again
    Listener(config, lambda: listening(url), ending).run(sockets=[bound])


def bind(host: str, port: int) -> socket.socket:
    """A socket on the address, which takes no connections yet; port 0 takes one that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        # asyncio turns off Nagle's algorithm only for sockets that say TCP; with it every answer takes 40 ms.
        bound = socket.socket(family, kind, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except (OSError, OverflowError) as error:
        raise ServiceError(
            f"{host}:{port} can't be listened on: {error}. Another --port may be free."
        ) from None
    return bound


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
