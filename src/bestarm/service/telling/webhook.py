"""News as a POST of JSON to an address that the operator gave, signed so that its receiver can trust it."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from bestarm import __version__
from bestarm.errors import UserError
from bestarm.service.telling.receiver import NotTold, key_of

ID = "Bestarm-Id"
TIMESTAMP = "Bestarm-Timestamp"
SIGNATURE = "Bestarm-Signature"
LEAST_SECRET = 16  # letters
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TIMEOUT = 10.0  # seconds


class Webhook:
    """Tells news to a web address."""

    def __init__(self, url: str, secret: str, seconds: Callable[[], float] = time.time) -> None:
        try:
            parts, _ = urlsplit(url), httpx.URL(url)
        except (ValueError, httpx.InvalidURL):
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError("webhook: it must be an address such as https://host/path.")
        if parts.username or parts.password:
            raise UserError("webhook: take name and password out of the address; it is signed instead.")
        if len(secret) < LEAST_SECRET:
            raise UserError(f"webhook: its secret must have at least {LEAST_SECRET} letters.")
        self.name = f"webhook {parts.hostname}"
        self.key = key_of("webhook", url)
        self._url, self._secret, self._seconds = url, secret.encode(), seconds
        self._own_machine = parts.hostname in LOOPBACK

    def tell(self, body: dict[str, Any], text: str) -> None:
        """Post it. Any answer from 200 to 299 says that it arrived; redirects are not followed."""
        content, timestamp = text.encode(), str(int(self._seconds()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"bestarm/{__version__}",
            ID: str(body["id"]),
            TIMESTAMP: timestamp,
            SIGNATURE: signature(self._secret, timestamp, content),
        }
        try:
            with (
                httpx.Client(timeout=TIMEOUT, trust_env=not self._own_machine) as http,
                http.stream("POST", self._url, content=content, headers=headers) as answer,
            ):
                status = answer.status_code
        except httpx.TimeoutException:
            raise NotTold("it did not answer in time") from None
        except (httpx.HTTPError, OSError) as error:
            raise NotTold(f"it can't be reached ({type(error).__name__})") from None
        if not 200 <= status < 300:
            raise NotTold(f"it answered with status {status}")


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the time, a dot and the body.

    >>> signature(b"0123456789abcdef", "1700000000", b"{}")[:24]
    'sha256=e4f8e2ecae2295b2d'
    """
    return "sha256=" + hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
