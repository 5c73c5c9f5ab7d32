"""`bestarm`: the map of commands. A command's file is loaded when it is called, so that help is instant."""

from __future__ import annotations

import io
import re
import sys
from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup

from bestarm import __version__
from bestarm.cli.output import say, show_warnings_as_lines
from bestarm.errors import ServiceError, UserError
from bestarm.simulation.compiled.interrupts import INTERRUPTED

# Who needs a command, and the folder: its name: (file, what it needs beside a site's own packages, help line).
# A file has a Typer `app` with the command of that name, or a group.
GROUPS = {
    ("To begin with", "demo"): {
        "demo": (
            "command",
            "server,simulate",
            "A whole federation on this machine, live, in under a minute.",
        ),
    },
    ("At a site", "lab"): {
        "ask": ("site", "", "Which experiments to do next."),
        "tell": ("site", "", "What came out of an experiment."),
        "status": ("site", "", "Where the study and this site stand."),
        "history": ("told", "", "What was told, with corrections."),
        "correct": ("told", "", "A told reward was wrong, and this is the right one."),
        "give-back": ("site", "", "An experiment can't be done; its place is handed out again."),
        "cannot": ("told", "", "An option can't be done any more, or again."),
        "leave": ("site", "", "Send what there is, although the plan is not full."),
        "sync": ("site", "", "Send what is complete and fetch what is new."),
        "audit": ("told", "", "Does the server's log still have what was sent?"),
    },
    ("For coordinators", "coordinator"): {
        "estimate": ("estimate", "simulate", "How many samples and messages a study will take."),
        "serve": ("serve", "server", "Run the server that sites talk to."),
        "study": ("study", "server", "Create, list, show, export, verify and close studies."),
        "token": ("token", "", "Create, list and revoke access tokens."),
    },
    ("For researchers", "research"): {
        "simulate": ("simulate", "simulate", "Run a method many times on a simulated problem."),
        "compare": ("compare", "simulate", "Several methods on the same problem and runs, in one table."),
        "methods": ("methods", "simulate", "Every method and rule with its parameters."),
        "advise": ("advise", "simulate", "Which method suits a problem, and what each would promise."),
        "sweep": ("sweep", "simulate", "A grid of methods, problems, parameters and seeds from a TOML file."),
        "reproduce": ("reproduce", "experiments", "The paper's experiments: figures, numbers and a report."),
        "bench": ("bench", "simulate", "How fast the simulators are, as ratios measured in one run."),
    },
}
COMMANDS = {
    name: (f"bestarm.cli.{folder}.{file}", needs)
    for (_, folder), commands in GROUPS.items()
    for name, (file, needs, _) in commands.items()
}


class LazyGroup(TyperGroup):
    """Loads a command's file when the command is called.

    Contexts are `Any`: newer versions of typer bring their own copy of click, and its types are private.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        if cmd_name not in COMMANDS:
            return None
        loaded: Any = typer.main.get_command(import_module(COMMANDS[cmd_name][0]).app)
        found: TyperCommand | TyperGroup = getattr(loaded, "commands", {}).get(cmd_name, loaded)
        found.name = cmd_name
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for (title, _), commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, _, text) in commands.items()])


# What typer says of an option's value, and how a person would say it.
PLAINER = (
    (r"Input should be a valid integer.*", "it must be a whole number"),
    (r"Input should be a valid number.*", "it must be a number"),
    (r"Input should be greater than or equal to", "it must be at least"),
    (r"Input should be less than or equal to", "it must be at most"),
    (r"Value error, ", ""),
)

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Several sites find the best of K options together, at their own pace, with a guarantee.",
    epilog="A study needs the names of its options: `bestarm study create --name ligands --arms A,B,C`.",
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
    """The entry point: what a person did wrong is one sentence on stderr and exit code 2."""
    show_warnings_as_lines()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows another one instead
    try:
        code = app(standalone_mode=False) or 0
    except UserError as error:
        say(str(error))
        code = 2
    except ServiceError as error:
        say(str(error))
        code = 1
    except ModuleNotFoundError as error:
        say(_what_to_install(error))
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        # A usage error of typer's has a message of its own; anything else is our mistake and crashes loudly.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        _say_usage(message(), getattr(error, "ctx", None))
        code = getattr(error, "exit_code", 2)
    if code == INTERRUPTED:
        say("interrupted.")
    sys.exit(code)


def _what_to_install(error: ModuleNotFoundError) -> str:
    """What the command needs that a site does not; a module of our own that is missing crashes loudly."""
    command = next((word for word in sys.argv[1:] if word in COMMANDS), "")
    extra = COMMANDS[command][1] if command else ""
    if not extra or str(error.name).startswith("bestarm"):
        raise error
    return f'{error.name} is missing: pip install "bestarm[{extra}]".'


def _say_usage(message: str, ctx: Any) -> None:
    if message.startswith("Usage: "):  # a group that was called without a command shows its help
        print(message, file=sys.stderr)
        return
    command = ctx.command_path if ctx else "bestarm"
    sentence = " ".join(message.split()).rstrip(".")
    for words, plainer in PLAINER:
        sentence = re.sub(words, plainer, sentence)
    say(f"{sentence}; `{command} --help` explains it.")


if __name__ == "__main__":
    run()
