"""Where a journal is if nobody says so and there is no server: beside the storage, by study and agent."""

from __future__ import annotations

from pathlib import Path

from bestarm.client.server.address import file_of
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import study_path
from bestarm.errors import Refused, UserError


def journal_beside(connection: Connection, url: str, study: str, agent: str) -> Path:
    """The journal of an agent of a study, which may have been called otherwise when it was begun.

    A storage that is no file has them in this folder. A name that a study once had leads to it for ever.
    """
    path = file_of(url)
    folder = Path("bestarm.journals") if path is None else path.with_name(f"{path.stem}.journals")
    place = folder / study / f"{agent}.db"
    if place.exists():
        return place
    called = connection.call("GET", study_path(study))["study"]  # there is such a study
    for other in sorted(folder.glob(f"*/{agent}.db")):
        if _called_now(connection, other.parent.name) == called:
            return other
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"journal {place}: its folder can't be made: {error.strerror}.") from None
    return place


def _called_now(connection: Connection, name: str) -> str | None:
    try:
        return str(connection.call("GET", study_path(name))["study"])
    except Refused:
        return None
