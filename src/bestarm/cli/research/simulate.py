"""`bestarm simulate`: many runs of one method on one problem."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.table import Table

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
from bestarm.cli.research.options import Options, with_options
from bestarm.cli.research.run import run
from bestarm.comparison import NamedWorld
from bestarm.errors import either
from bestarm.methods import METHODS, parse_parameters
from bestarm.simulation.result import Result

EXAMPLES = """\b
Examples:
  bestarm simulate --means 0.9,0.8,0.7 --sigma 0.3
  bestarm simulate problem.toml --method famabpe --set gamma=0.1 --agents 20
  bestarm simulate problem.toml --runs 10000 --jobs 4 --plot samples.png
  bestarm simulate problem.toml --rates 3,1,1,0.2 --offline 1:50:200 --leave 2:100
  bestarm simulate --means 0.9,0.8,0.7 --sigma 0.3 --noise 0.25 --offsets 0,0.1,-0.2 --drift 0.1
  bestarm simulate --means 0.05,0.04,0.04 --rewards yes-no --offsets 0,0.5,-0.5 --agents 3
  bestarm simulate --means 60,50,45 --rewards bounded --reward-range 0,100
  bestarm simulate --table measured.csv --sigma 0.3 --format json

The answer is within epsilon of the best arm with probability at least 1 − delta. samples is every pull of
every agent; one communication is one upload or one download; switches is how often an agent's arm changes.
"""

MANY = 12  # arms; of more, those that were never returned share a line

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
@with_options
def simulate(
    options: Options,
    method: Annotated[str, typer.Option(help=f"{either(METHODS)}.")] = "sharp",
) -> None:
    """Run a method many times on a simulated problem, and say what it cost and how often it was wrong."""
    simulation = options.read()
    built = simulation.method(method, parse_parameters(options.set or []))
    result = run(simulation, [(method, built)])[0]
    if options.plot is not None:
        result.plot(options.plot)
    if options.format is Format.json:
        print_json(result.to_json())
    else:
        against = NamedWorld("", "", result.problem, result.world).against(built)
        print_table(*describe(result, against))


def describe(result: Result, against: str = "") -> list[Table | str]:
    """The result as a person reads it, and what is against its promise, if anything."""
    problem = result.problem
    title = (
        f"{result.method} on {problem.name}: {problem.K} arms, {count(result.agents, 'agent')}, "
        f"{count(result.runs, 'run')}, seed {result.seed}, {result.engine} engine, {result.seconds:.1f} s"
    )
    given = {"sigma": sigma_word(problem), "delta": problem.delta, "epsilon": problem.epsilon}
    promised = f"nothing is promised: {against}" if against else f"promised: at most {percent(problem.delta)}"
    rate = percent(result.wrong / result.runs)
    wrong = f"Wrong answers: {result.wrong:,} of {result.runs:,} ({rate}); {promised}."
    parts: list[Table | str] = [
        title,
        settings({**given, **result.world.words, **result.parameters}),
        costs(result),
        answers(result),
    ]
    sentences = [wrong, theory_sentence(result), undecided_sentence([result], [result.method])]
    return [*parts, *(sentence for sentence in sentences if sentence)]


def costs(result: Result) -> Table:
    """Samples, communications and switches."""
    table = make_table("", "mean ± error", "median", "5–95 %", "max")
    for field in ("samples", "communications", "switches"):
        found = result.summary(field)
        table.add_row(
            field,
            mean_and_error(found.mean, found.stderr),
            number(found.median),
            f"{number(found.low)}–{number(found.high)}",
            number(found.most),
        )
    return table


def theory_sentence(result: Result) -> str:
    """The means beside what theory says, or nothing where it says nothing."""
    bounds, ratios = result.bounds, result.ratios
    if bounds is None or ratios["samples_to_lower"] is None:
        return ""
    sentence = f"Samples: {number(ratios['samples_to_lower'])} × the lower bound of {number(bounds.lower)}"
    if ratios["samples_to_bound"] is None or ratios["communications_to_bound"] is None:
        return f"{sentence} (any method, Gaussian rewards)."
    theorem = (
        f"samples {number(ratios['samples_to_bound'])} × {number(bounds.samples or 0)}, "
        f"communications {number(ratios['communications_to_bound'])} × {number(bounds.communications or 0)}"
    )
    return f"{sentence} (any method, Gaussian rewards). The theorem's bounds: {theorem}."


def answers(result: Result) -> Table:
    """How often each arm was returned."""
    table = make_table("arm", "true mean", "returned")
    rows = list(zip(result.arms.items(), result.means.tolist(), strict=True))
    best = result.means[np.argmax(result.problem.merits(result.means))]
    shown = [row for row in rows if len(rows) <= MANY or row[0][1] or row[1] == best]
    for (arm, returned), mean in shown:
        table.add_row(arm, f"{mean:.4g}", f"{returned:,}")
    if len(shown) < len(rows):
        table.add_row(f"{len(rows) - len(shown)} others", "", "0")
    return table
