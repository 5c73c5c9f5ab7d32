"""Real receivers of news on this machine: a web server, and an SMTP server with STARTTLS and login."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult


class Arrived(list[Any]):
    """What has arrived, and a way to wait for more."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def put(self, one: Any) -> None:
        with self._changed:
            self.append(one)
            self._changed.notify_all()

    def wait(self, many: int, seconds: float = 30.0) -> Self:
        """Until there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self) >= many, seconds), list(self)
        return self


class Hook:
    """A web server that keeps what is posted to it: headers and body. `answers` says what it answers."""

    def __init__(self, port: int = 0) -> None:
        self.arrived = Arrived()
        self.answers: list[int] = []  # one for each post; then 204
        self.hangs = threading.Event()  # while it is set nothing is answered
        self.free = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.arrived.put((dict(self.headers), body))
                if hook.hangs.is_set():
                    hook.free.wait(60)
                status = hook.answers.pop(0) if hook.answers else 204
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # whoever called was killed

        self._server = Quiet(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.free.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OnSocket(Controller):
    """An SMTP server on a socket that is bound already, so that nobody else can have taken its port."""

    bound: socket.socket

    def _create_server(self) -> Any:
        return self.loop.create_server(self._factory_invoker, sock=self.bound, ssl=self.ssl_context)


class Post:
    """An SMTP server that keeps the letters it gets. `refuses` are answers to the next of them."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, user: tuple[str, str] | None = None, implicit: bool = False
    ) -> None:
        self.arrived = Arrived()
        self.refuses: list[str] = []
        self.logins: list[tuple[bytes, bytes]] = []
        post = self

        class Handler:
            async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:
                if post.refuses:
                    return post.refuses.pop(0)
                letter: Message = message_from_bytes(envelope.content)
                safe = server.transport.get_extra_info("sslcontext") is not None
                post.arrived.put((envelope.mail_from, envelope.rcpt_tos, safe, letter))
                return "250 OK"

        def authenticated(_: Any, __: Any, ___: Any, ____: Any, data: Any) -> AuthResult:
            post.logins.append((data.login, data.password))
            return AuthResult(success=user == (data.login.decode(), data.password.decode()), handled=False)

        options: dict[str, Any] = {"ssl_context": tls} if implicit else {"tls_context": tls}
        if tls is not None and not implicit:
            options["require_starttls"] = True
        if user is not None:
            options |= {"authenticator": authenticated, "auth_required": True}
        self._bound = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = "localhost", int(self._bound.getsockname()[1])
        self._controller = OnSocket(Handler(), "127.0.0.1", self.port, **options)
        self._controller.bound = self._bound

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for localhost that signs itself: its file, and the server's side of it."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context
