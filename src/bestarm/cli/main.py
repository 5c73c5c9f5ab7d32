"""`bestarm`: the map of commands. A command's file is loaded when it is called, so that help is instant."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click
import typer.main
from typer.core import TyperGroup

from bestarm import __version__
from bestarm.errors import ServiceError, UserError

# name: (file in bestarm.cli, help line); a file has a Typer `app` with the command of that name, or a group.
COMMANDS = {
    "demo": ("demo", "A whole federation on this machine, live, in under a minute."),
    "simulate": ("simulate", "Run a method many times on a simulated problem."),
    "compare": ("compare", "Several methods on the same problem and runs, in one table."),
    "sweep": ("sweep", "A grid of methods, problems, parameters and seeds from a TOML file."),
    "reproduce": ("reproduce", "The paper's experiments: figures, numbers and a report."),
    "bench": ("bench", "How fast the simulators are, as ratios measured in one run."),
    "serve": ("serve", "Run the server that sites talk to."),
    "study": ("study", "Create, list, show, export, verify and close studies."),
    "token": ("token", "Create, list and revoke access tokens."),
    "ask": ("site", "At a site: which experiments to do next."),
    "tell": ("site", "At a site: what came out of an experiment."),
    "status": ("site", "At a site: where the study and this site stand."),
    "sync": ("site", "At a site: send what is complete and fetch what is new."),
}


class LazyGroup(TyperGroup):
    """Loads a command's file when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        file, _ = COMMANDS[cmd_name]
        loaded: Any = typer.main.get_command(import_module(f"bestarm.cli.{file}").app)
        found: click.Command = (
            loaded.commands[cmd_name] if cmd_name in getattr(loaded, "commands", {}) else loaded
        )
        found.name = cmd_name
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Several sites find the best of K options together, at their own pace, with a guarantee.",
    epilog="Start with `bestarm demo`; then `bestarm simulate --means 0.9,0.8,0.7 --sigma 0.3`.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bestarm {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def run() -> None:
    """The entry point: one sentence on stderr, exit code 2 for a person's mistake and 1 for a failure elsewhere."""
    try:
        app(standalone_mode=True)
    except UserError as error:
        print(f"bestarm: {error}", file=sys.stderr)
        sys.exit(2)
    except ServiceError as error:
        print(f"bestarm: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("bestarm: interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
