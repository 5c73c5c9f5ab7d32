"""How the commands print: sentences on stderr, tables and JSON on stdout."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bestarm.errors import ProblemWarning
from bestarm.names import is_hidden, shown
from bestarm.shown import count as count
from bestarm.shown import number as number
from bestarm.shown import percent as percent
from bestarm.shown import settings as settings

if TYPE_CHECKING:
    from bestarm.problem import Problem
    from bestarm.simulation.result import Result


class Plain(Console):
    """Prints text as it is: an arm called `:100:` is no emoji, and one called `[red]` has no colour.

    What can't be seen is escaped: nothing from a name, or from a server's answer, moves the cursor.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str("\n".join(map(shown, text.split("\n"))), **options)


def plain_console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console for sentences and tables."""
    return Plain(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


errors = plain_console(stderr=True)


class Format(StrEnum):
    """What a command prints: for people, or for programs."""

    table = "table"
    json = "json"


def say(sentence: str) -> None:
    """One line on stderr, in bestarm's name."""
    errors.print(f"bestarm: {' '.join(sentence.splitlines())}", soft_wrap=not errors.is_terminal)


def show_warnings_as_lines() -> None:
    """A `ProblemWarning` is a line for a person, without Python's file and line number."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, ProblemWarning):
            say(f"warning: {message}")
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def print_json(value: Any) -> None:
    """JSON as every reader takes it: it has no infinity, so what is not finite must be None before."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    print(text if text.isprintable() else "".join(_in_json(letter) for letter in text))


def _in_json(letter: str) -> str:
    return json.dumps(letter)[1:-1] if is_hidden(letter) else letter


def for_terminal(text: str) -> str:
    """Text for stdout as it is; but with what can't be seen escaped if a person looks at it there."""
    return "\n".join(map(shown, text.split("\n"))) if sys.stdout.isatty() else text


def print_table(*parts: Table | str) -> None:
    """Tables and lines, as wide as the terminal; 100 columns where there is none."""
    console = plain_console()
    if not console.is_terminal:
        console = plain_console(width=max(console.width, 100))
    for part in parts:
        if isinstance(part, str):
            console.print(part, soft_wrap=not console.is_terminal)
        else:
            wide = plain_console(width=max(console.width, _least_width(part)))
            wide.print("", part, "", sep="\n")


def _least_width(table: Table) -> int:
    """How wide a table must be to lose nothing; names, in the first column, fold at 16 letters."""
    widths = [max(cell_len(str(cell)) for cell in (column.header, *column.cells)) for column in table.columns]
    table.columns[0].min_width = min(widths[0], 16)
    return table.columns[0].min_width + sum(width + 3 for width in widths[1:])


def make_table(*columns: str, title: str | None = None) -> Table:
    """The house's table: the first column to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    table.show_edge = False
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=place > 0, overflow="fold")
    return table


def mean_and_error(mean: float, stderr: float) -> str:
    """The mean with its standard error.

    >>> mean_and_error(9838.4, 56.2), mean_and_error(451.26, 2.9), mean_and_error(20, 0)
    ('9,838 ± 56', '451.3 ± 2.9', '20 ± 0')
    """
    digits = 0 if stderr >= 10 or (stderr == 0 and mean == round(mean)) else 1 if stderr >= 1 else 2
    return f"{mean:,.{digits}f} ± {stderr:,.{digits}f}"


def sigma_word(problem: Problem) -> str:
    """How much rewards scatter, as far as it is known."""
    return "measured" if problem.sigma is None else f"{problem.sigma:g}"


def undecided_sentence(results: Sequence[Result], labels: Sequence[str]) -> str:
    """What undecided runs mean for the numbers, or nothing if there are none."""
    some = [
        (label, result.unfinished, result.runs)
        for label, result in zip(labels, results, strict=True)
        if result.unfinished
    ]
    if not some:
        return ""
    which = ", ".join(f"{label} {number} of {runs:,}" for label, number, runs in some)
    return (
        f"Undecided runs: {which}. They ended at the limit of samples or with the schedule, and count as no "
        "answer; the means include what they used so far, so they are too small."
    )
