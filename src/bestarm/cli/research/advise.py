"""`bestarm advise`: which method suits a problem, and what each of them would promise there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.output import Format, print_json, print_table
from bestarm.cli.research.methods import left_table
from bestarm.comparison.advice import Advice, advise
from bestarm.problem import Problem
from bestarm.service.view.said.promise import rests_on

EXAMPLES = """\b
Examples:
  bestarm advise problem.toml
  bestarm advise problem.toml --agents 3 --format json

A promise is that the answer is wrong with probability at most delta. How many samples each method takes is
measured by `bestarm compare problem.toml --methods …`, and for named worlds in docs/field.md.
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("advise", epilog=EXAMPLES)
def command(
    problem: Annotated[Path, typer.Argument(metavar="problem.toml", help="The problem.")],
    agents: Annotated[int, typer.Option(help="How many sites will take part.")] = 10,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Say which method to take for a problem, and what each of the others would promise there."""
    advice = advise(Problem.load(problem), agents)
    if format is Format.json:
        print_json({"take": advice[0].name, "methods": [row(one) for one in advice]})
        return
    table = left_table("method", "for", "its promise here", "take it", title="All methods")
    for one in advice:
        table.add_row(one.name, one.who, "holds" if one.promises else f"none: {one.against}", one.when)
    first = advice[0]
    taken = [f"Take {first.name}."] if first.promises else ["No method can promise anything here."]
    print_table(*taken, *([rests_on(first.method)] if first.method is not None else []), table)


def row(one: Advice) -> dict[str, str | bool]:
    """One method in plain values."""
    return {
        "method": one.name,
        "for": one.who,
        "promises": one.promises,
        "against": one.against,
        "when": one.when,
        "test": "" if one.method is None else one.method.test.name,
    }
