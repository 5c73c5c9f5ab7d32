"""What a URL leads to: a server, or a storage that needs none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import httpx

from bestarm.errors import UserError

if TYPE_CHECKING:
    from bestarm.local.inside import Inside

JOURNAL = "bestarm-journal.db"
STORAGES = ("sqlite", "postgresql")
EXAMPLES = "http://host:8000, https://host, sqlite:///file.db or postgresql+psycopg://user@host/database"


def is_storage(url: object) -> bool:
    """Whether a URL is a storage's, where there is no server.

    >>> is_storage("sqlite:///ligands.db"), is_storage("postgresql+psycopg://host/db"), is_storage("http://host")
    (True, True, False)
    """
    return isinstance(url, str) and url.partition(":")[0].partition("+")[0] in STORAGES


def check_url(url: str) -> str:
    """A server's or a storage's URL; a sentence if it is neither.

    >>> check_url("http://host:8000/")
    'http://host:8000/'
    """
    try:
        parts, _ = urlsplit(url), httpx.URL(url)
        if is_storage(url) or (parts.scheme in ("http", "https") and parts.hostname):
            return url
    except (ValueError, httpx.InvalidURL):
        pass
    raise UserError(f"url is {url!r}; it must look like {EXAMPLES}.")


def shown(url: str) -> str:
    """A storage's URL for people: without its password.

    >>> shown("postgresql+psycopg://me:secret@host/db"), shown("sqlite:///ligands.db")
    ('postgresql+psycopg://me@host/db', 'sqlite:///ligands.db')
    """
    parts = urlsplit(url)
    if parts.password is None:
        return url.partition("?")[0]
    return f"{parts.scheme}://{parts.username}@{parts.netloc.rpartition('@')[2]}{parts.path}"


def file_of(url: str) -> Path | None:
    """The file of an SQLite storage; None for another one. One in memory has none, and can't be shared.

    >>> file_of("sqlite:///ligands.db"), file_of("postgresql+psycopg://host/db")
    (PosixPath('ligands.db'), None)
    """
    if not url.startswith("sqlite"):
        return None
    path = unquote(url.partition("?")[0].partition("://")[2].partition("/")[2])
    if path in ("", ":memory:"):
        raise UserError(
            f"{url} is in memory, and a study there is known only to whoever made it, with "
            "bestarm.create_study; name a file, as in sqlite:///ligands.db."
        )
    return Path(path)


def open_inside(url: str, make: bool) -> Inside:
    """The service around a storage, within this process. Only who is to `make` one may name a new file."""
    path = file_of(url)
    if path is not None and not make and not path.exists():
        raise UserError(
            f"there is no storage {str(path)!r}; `bestarm study create` makes one, and so does "
            "bestarm.create_study(…, storage=…)."
        )
    try:
        from bestarm.local.inside import Inside
    except ModuleNotFoundError as error:
        if str(error.name).startswith("bestarm"):
            raise
        raise UserError(
            f"without a server a site needs what a server does, and {error.name} is missing: "
            'pip install "bestarm[server]".'
        ) from None
    return Inside(url)
