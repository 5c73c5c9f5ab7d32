"""Options that many commands have stand in one place, and a command is handed what they come to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

Command = Callable[..., None]


def option(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
    """An option as Typer reads it from a function's signature."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def with_shared(
    options: Iterable[inspect.Parameter],
    call: Callable[[Command, dict[str, Any], dict[str, Any]], None],
) -> Callable[[Command], Command]:
    """A decorator for commands that have these options in the place of their first argument.

    `call` gets the command, what the shared options say, and what its own ones say.
    """
    shared = list(options)

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

        @wraps(command)
        def called(**values: Any) -> None:
            call(command, {one.name: values.pop(one.name) for one in shared}, values)

        vars(called)["__signature__"] = inspect.Signature(
            [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *shared]
        )
        return called

    return decorate
