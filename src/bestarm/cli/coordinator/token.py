"""`bestarm token`: create, list and revoke access tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from bestarm.cli.output import Format, make_table, print_json, print_table, say
from bestarm.cli.server import Journal, Output, Study, Token, Url, place
from bestarm.client.server.address import is_storage, shown
from bestarm.client.server.connection import Connection, Settings, resolve
from bestarm.errors import UserError
from bestarm.private import write_private

app = typer.Typer(
    rich_markup_mode=None, add_completion=False, no_args_is_help=True, help="Access tokens of a server."
)

DAY = 86_400


def at_server(settings: Settings) -> Settings:
    """Settings that lead to a server; without one nobody has a token."""
    if is_storage(settings.url):
        raise UserError(
            f"{shown(str(settings.url))} is a storage, and without a server there are no tokens: whoever can "
            "open it may do everything, and --agent says which site they are."
        )
    return settings


@app.command(
    epilog="""\b
Examples:
  bestarm token create --study ligands --agent lab-a --out lab-a.token
  bestarm token create --study ligands --viewer --expires 90
  bestarm token create --admin
"""
)
def create(
    study: Study = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="For the site of this name.")] = None,
    viewer: Annotated[bool, typer.Option("--viewer", help="For somebody who only looks.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="For another administrator, of all studies.")] = False,
    expires: Annotated[float | None, typer.Option(metavar="DAYS", help="Valid for so many days.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write it to this file, which only you can read, and don't print it.")
    ] = None,
    url: Url = None,
    token: Token = None,
    journal: Journal = None,
    output: Output = Format.table,
) -> None:
    """Create a token; it is shown once and kept nowhere.

    The token is all that goes to standard output, so `$(…)` takes it as it is.
    """
    if (agent is not None) + viewer + admin != 1:
        raise UserError("who is the token for? Give one of --agent NAME, --viewer or --admin.")
    if expires is not None and not 0 < expires < math.inf:
        raise UserError(f"--expires is {expires!r}; it must be a number of days above 0.")
    if out is not None and out.exists():
        raise UserError(f"{out}: the file exists already; name another one, or move it away.")
    settings = at_server(resolve(url, token, study))
    body: dict[str, Any] = {} if expires is None else {"expires_in": expires * DAY}
    path = "/v1/tokens"
    if not admin:
        path = f"{place(settings)}/tokens"
        body |= {"role": "viewer"} if agent is None else {"role": "agent", "agent": agent}
    with Connection.to(settings) as connection:
        made = connection.call("POST", path, body)
    if output is Format.json:
        print_json(made)
        return
    who = f"agent {made['agent']}" if made["agent"] else f"the {made['role']}"
    where = "all studies" if made["study"] is None else f"study {made['study']}"
    until = "until it is revoked" if made["expires_at"] is None else f"until {made['expires_at']}"
    say(f"a token for {who} of {where}, valid {until}; its id is {made['id']}. It is not shown again.")
    if out is None:
        print(made["token"])
    else:
        write_private(out, made["token"] + "\n")


@app.command("list")
def every(
    study: Annotated[str | None, typer.Option(help="Only this study's.")] = None,
    url: Url = None,
    token: Token = None,
    journal: Journal = None,
    output: Output = Format.table,
) -> None:
    """List tokens, without their secrets."""
    with Connection.to(at_server(resolve(url, token))) as connection:
        path = "/v1/tokens" if study is None else f"/v1/studies/{quote(study, safe='')}/tokens"
        found = connection.call("GET", path)
    if output is Format.json:
        print_json(found)
        return
    table = make_table("id", "role", "study", "agent", "created", "expires", "revoked")
    for row in found["tokens"]:
        words = [row[key] or "–" for key in ("id", "role", "study", "agent")]
        times = [(row[key] or "–")[:16] for key in ("created_at", "expires_at", "revoked_at")]  # to the minute
        table.add_row(*words, *times)
    print_table(table if found["tokens"] else "There are no tokens.")


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")],
    url: Url = None,
    token: Token = None,
    journal: Journal = None,
    output: Output = Format.table,
) -> None:
    """Make a token worthless."""
    with Connection.to(at_server(resolve(url, token))) as connection:
        gone = connection.call("DELETE", f"/v1/tokens/{quote(token_id, safe='')}")
    if output is Format.json:
        print_json(gone)
    else:
        print_table(f"Token {gone['id']} is revoked.")
