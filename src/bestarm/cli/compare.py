"""`bestarm compare`: several methods on the same problem, with the same seeds."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from bestarm.cli.options import Options, Simulation, with_options
from bestarm.cli.output import (
    Format,
    count,
    make_table,
    mean_and_error,
    number,
    percent,
    print_json,
    print_table,
    settings,
    sigma_word,
    undecided_sentence,
)
from bestarm.cli.run import run
from bestarm.errors import UserError
from bestarm.methods import METHODS, Kind, Method, Parameter, parse_parameters
from bestarm.plot import plot_compare, save
from bestarm.simulation.result import Result

ALONE = ", ".join(name for name, recipe in METHODS.items() if recipe.kind is Kind.ALONE)
EXAMPLES = f"""\b
Examples:
  bestarm compare --means 0.9,0.8,0.7 --sigma 0.3
  bestarm compare problem.toml --methods famabpe,sharp,ugapec --plot compare.png
  bestarm compare problem.toml --methods famabpe,famabpe:gamma=0.1,sharp:thrift=messages
  bestarm compare problem.toml --methods famabpe,famabpe:stopping=pairs:trigger=aim

A method's own settings follow its name after colons, so one rule at a time can be exchanged. --set goes to
all methods. The single-agent baselines ({ALONE}) send no messages and take no notice of --agents.
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
@with_options
def compare(
    options: Options,
    methods: Annotated[
        str,
        typer.Option(metavar="NAME[:name=value…],…", help="Methods separated by commas, best with few."),
    ] = "famabpe,sharp",
) -> None:
    """Run several methods on the same problem with the same seeds, in one table."""
    simulation = options.read()
    built = read_methods(simulation, methods, parse_parameters(options.set or []))
    labels = [label for label, _ in built]
    results = run(simulation, built)
    if options.plot is not None:
        save(plot_compare(results, labels), options.plot)
    if options.format is Format.json:
        print_json([{"label": label} | result.to_json() for label, result in zip(labels, results, strict=True)])
    else:
        print_table(*describe(results, labels))


def read_methods(simulation: Simulation, text: str, common: dict[str, Parameter]) -> list[tuple[str, Method]]:
    """The methods of `--methods`, each with its label."""
    labels = [label.strip() for label in text.split(",")]
    found = []
    for place, label in enumerate(labels):
        name, *settings = label.split(":")
        if not name or any("=" not in setting for setting in settings):
            raise UserError(
                f"--methods has {label!r}; a method is a name with settings after colons, such as "
                "famabpe:gamma=0.1, and methods are separated by commas."
            )
        if label in labels[:place]:
            raise UserError(f"--methods has {label!r} twice; once is enough, the runs would be the same.")
        found.append((label, simulation.method(name, common | parse_parameters(settings))))
    return found


def describe(results: list[Result], labels: list[str]) -> list[Table | str]:
    """The comparison as a person reads it."""
    first = results[0]
    problem, bounds = first.problem, first.bounds
    title = (
        f"{problem.name}: {problem.K} arms, {count(first.agents, 'agent')}, {count(first.runs, 'run')}, "
        f"seed {first.seed}, sigma {sigma_word(problem)}, delta {problem.delta:g}, epsilon {problem.epsilon:g}"
        + (f"; {settings(first.world.words)}" if first.world.words else "")
    )
    table = make_table("method", "samples", "5–95 %", "× lower", "communications", "wrong")
    for label, result in zip(labels, results, strict=True):
        samples, sent = result.summary(), result.summary("communications")
        ratio = result.ratios["samples_to_lower"]
        table.add_row(
            label,
            mean_and_error(samples.mean, samples.stderr),
            f"{number(samples.low)}–{number(samples.high)}",
            "" if ratio is None else number(ratio),
            mean_and_error(sent.mean, sent.stderr),
            percent(result.wrong / result.runs),
        )
    promise = f"Wrong answers: promised are at most {percent(problem.delta)}."
    lower = ""
    if bounds is not None and first.ratios["samples_to_lower"] is not None:
        lower = f"Lower bound for any method, with Gaussian rewards: {number(bounds.lower)} samples on average."
    sentences = [lower, promise, undecided_sentence(results, labels)]
    return [title, table, *(sentence for sentence in sentences if sentence)]
