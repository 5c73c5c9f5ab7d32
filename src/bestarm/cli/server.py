"""The options of every command that talks to a server or a storage."""

from __future__ import annotations

from typing import Annotated

import typer

from bestarm.cli.output import Format
from bestarm.cli.shared import option, with_shared
from bestarm.client.server.connection import Settings, resolve
from bestarm.client.server.exchange import study_path

Url = Annotated[
    str | None,
    typer.Option(
        help="The server, http://…, or without one a storage, sqlite:///FILE or postgresql+psycopg://…; or "
        "BESTARM_URL, or url in bestarm.toml."
    ),
]
Token = Annotated[
    str | None,
    typer.Option(help="A token, for a server; or BESTARM_TOKEN, or token in bestarm.toml."),
]
Agent = Annotated[
    str | None,
    typer.Option(
        help="Which site you are, without a server; or BESTARM_AGENT, or agent in bestarm.toml. With one, the "
        "token says so."
    ),
]
Study = Annotated[str | None, typer.Option(help="The study; or BESTARM_STUDY, or study in bestarm.toml.")]
Journal = Annotated[str | None, typer.Option(hidden=True, help="A site's memory; of no use to this command.")]
Output = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]
Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The study; left out, --study.", show_default=False)
]

# A command whose first argument is the `Settings` that lead to its server or storage.
at_server = with_shared(
    [
        option("url", Url),
        option("token", Token),
        option("agent", Agent),
        option("study", Study),
        option("journal", Journal),
    ],
    lambda command, shared, own: command(resolve(**shared), **own),
)


def place(settings: Settings, name: str | None = None) -> str:
    """Where a study is, on the server: the one that is named, or the one of the settings."""
    return study_path(name or settings.need("study"))
