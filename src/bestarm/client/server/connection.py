"""Where the server or the storage is and how to speak to it: settings, from wherever, and one call."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from bestarm.client.server.address import check_url, is_storage, open_inside, shown
from bestarm.errors import Refused, ServiceError, Unreached, UserError
from bestarm.protocol.version import HEADER, VERSION

FILE = "bestarm.toml"
KEYS = ("url", "token", "agent", "study", "journal")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command knows about its server; a setting that nobody gave is None."""

    url: str | None = None
    token: str | None = None
    study: str | None = None
    journal: str | None = None
    agent: str | None = None

    def need(self, key: str) -> str:
        """A setting that the command can't do without.

        >>> Settings(study="ligands").need("study")
        'ligands'
        """
        value: str | None = getattr(self, key)
        if value is None:
            raise UserError(
                f"{key} is not known; give --{key}, set BESTARM_{key.upper()}, or write it in {FILE}."
            )
        return value


def resolve(
    url: str | None = None,
    token: str | None = None,
    study: str | None = None,
    journal: str | None = None,
    agent: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Settings:
    """Each setting from the option, else from BESTARM_URL and so on, else from `bestarm.toml` in the folder.

    >>> resolve("http://host:8000", environ={"BESTARM_STUDY": "ligands"}, folder=Path("/nowhere"))
    Settings(url='http://host:8000', token=None, study='ligands', journal=None, agent=None)
    """
    given = {"url": url, "token": token, "study": study, "journal": journal, "agent": agent}
    written = _read(folder or Path.cwd())
    return Settings(
        **{key: given[key] or environ.get(f"BESTARM_{key.upper()}") or written.get(key) for key in KEYS}
    )


def _read(folder: Path) -> dict[str, str]:
    path = folder / FILE
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: it can't be read: {error}.") from None
    for key, value in table.items():
        if key not in KEYS or not isinstance(value, str) or not value:
            raise UserError(f"{path}: {key} = {value!r} is not a setting; it takes {', '.join(KEYS)} as text.")
    return table


class Connection:
    """Calls a server, with a token; the transport is an argument, so that a test can drive one in-process."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
        shown: str | None = None,
    ) -> None:
        """`shown` is the storage that the transport leads to, where there is no server."""
        parts = urlsplit(check_url(url))
        if not token.isascii() or not token.isprintable():
            raise UserError("token: it has letters that no token has; copy it again.")
        self.url = shown or url.rstrip("/")
        self.place = f"the server at {self.url}" if shown is None else f"the storage {shown}"
        self.http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}", HEADER: str(VERSION)},
            timeout=timeout,
            transport=transport,
            verify=httpx.create_ssl_context() if parts.scheme == "https" else True,  # SSL_CERT_FILE counts
            trust_env=parts.hostname not in LOOPBACK,  # a proxy does not know this machine's own ports
        )

    @classmethod
    def to(cls, settings: Settings, *, make: bool = False) -> Self:
        """The connection that resolved settings describe; to a storage, that of its owner.

        Only who is to `make` a storage may name a file that is not there yet.
        """
        url = check_url(settings.need("url"))
        if not is_storage(url):
            return cls(url, settings.need("token"))
        inside = open_inside(url, make)
        return cls.within(inside.owner(settings.agent, last=True), shown(url))

    @classmethod
    def within(cls, door: httpx.BaseTransport, storage: str) -> Self:
        """The connection of a caller within this process to the service around a storage."""
        return cls("http://inside", "none", transport=door, shown=storage)

    def call(self, method: str, path: str, json: object = None) -> dict[str, Any]:
        """The server's answer to one request.

        A refusal is a `Refused`, with the server's sentence, its code and the HTTP status. A server that can't
        be reached, that fails, or that asks to come back later is a `ServiceError`: nothing is known about
        what it did, and the same call may be made again.
        """
        answer = self.send(method, path, json)
        try:
            body = answer.json()
        except ValueError:
            raise ServiceError(
                f"{self.url} answered {method} {path} with something that is not JSON."
            ) from None
        if not isinstance(body, dict):
            raise ServiceError(f"{self.url} answered {method} {path} with something that is not an object.")
        return body

    def send(self, method: str, path: str, json: object = None) -> httpx.Response:
        """Like `call`, for an answer that is not JSON."""
        with self._reaching():
            answer = self.http.request(method, path, json=json)
        return self._accepted(answer)

    def stream(self, path: str) -> Iterator[bytes]:
        """An answer that may be long, piece by piece."""
        with self._reaching(), self.http.stream("GET", path) as answer:
            if not answer.is_success:
                answer.read()
            yield from self._accepted(answer).iter_bytes()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreached(f"{self.place} can't be reached: {error}.") from None
        except httpx.TimeoutException:
            raise ServiceError(f"{self.place} did not answer in time; try again later.") from None
        except httpx.HTTPError as error:
            raise ServiceError(f"{self.place} can't be reached: {error}.") from None

    def _accepted(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        sentence, code = _refusal(answer)
        if answer.status_code >= 500 or answer.status_code in (408, 429):
            raise ServiceError(f"{self.place} could not do it: {sentence}")
        raise Refused(sentence, code, answer.status_code)

    @contextmanager
    def in_a_hurry(self, seconds: float) -> Iterator[None]:
        """Calls that are given up after a few seconds: for what would be good to know, but is not needed."""
        usual, self.http.timeout = self.http.timeout, httpx.Timeout(seconds)
        try:
            yield
        finally:
            self.http.timeout = usual

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refusal(answer: httpx.Response) -> tuple[str, str]:
    try:
        body = answer.json()
        return str(body["error"]), str(body["code"])
    except (ValueError, KeyError, TypeError):
        return f"it answered with status {answer.status_code} and no explanation.", "unknown"
