"""The options of every command that talks to a server, and the connection that they describe."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from bestarm.cli.output import Format
from bestarm.client.connection import Settings

Url = Annotated[str | None, typer.Option(help="The server; or BESTARM_URL, or url in bestarm.toml.")]
Token = Annotated[str | None, typer.Option(help="A token; or BESTARM_TOKEN, or token in bestarm.toml.")]
Study = Annotated[str | None, typer.Option(help="The study; or BESTARM_STUDY, or study in bestarm.toml.")]
Journal = Annotated[str | None, typer.Option(hidden=True, help="A site's memory; of no use to this command.")]
Output = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]


def place(settings: Settings, name: str | None = None) -> str:
    """Where a study is, on the server: the one that is named, or the one of the settings."""
    return f"/v1/studies/{quote(name or settings.need('study'), safe='')}"
