"""`bestarm estimate`: how many samples and messages to expect, before a study is started."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bestarm.cli.output import (
    Format,
    count,
    make_table,
    number,
    print_json,
    print_table,
    settings,
    sigma_word,
)
from bestarm.cli.progress import Progress, saying_when_compiling
from bestarm.cli.research.options import (
    SET_HELP,
    Drift,
    Interactions,
    Noise,
    Offsets,
    Rewards,
    numbers,
    read_world,
)
from bestarm.errors import UserError, either
from bestarm.estimation import GAPS, Estimate, Expectation, Spending
from bestarm.estimation import estimate as expect
from bestarm.methods import METHODS, parse_parameters
from bestarm.problem import Problem

EXAMPLES = """\b
Examples:
  bestarm estimate problem.toml --agents 3
  bestarm estimate problem.toml --gaps 0.05,0.1,0.2 --plot costs.png
  bestarm estimate problem.toml --pilot first.csv
  bestarm estimate problem.toml --gap-over-noise 0.5 --offsets 0,0.2,-0.1
  bestarm estimate problem.toml --set thrift=messages --format json
  bestarm estimate problem.toml --gaps 0.1,0.2 --budget 200

The numbers come from simulated runs. A problem with means is simulated as it is; without means, or with --gaps,
each gap is assumed in turn. A pilot has first measurements, from which means and noise are estimated. The
narrower the gap, the longer the study: half the gap takes up to four times the samples. With a budget it also
says how likely that is to decide, and how many arms are ruled out on average where it does not.
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def estimate(
    problem: Annotated[Path, typer.Argument(metavar="problem.toml", help="The problem.")],
    method: Annotated[str, typer.Option(help=f"{either(METHODS)}.")] = "sharp",
    agents: Annotated[int, typer.Option(help="How many sites will take part.")] = 10,
    gaps: Annotated[
        str | None,
        typer.Option(
            metavar="0.05,0.1,…",
            help="By how much the best arm is assumed to be better than the others, in units of the reward.  "
            "[default: the problem's means; without means ¼, ½, 1 and 2 times the noise]",
        ),
    ] = None,
    gap_over_noise: Annotated[
        str | None,
        typer.Option(
            metavar="0.5,1,…", help="The same as multiples of the noise, if that is what you can guess."
        ),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="first.csv",
            help="First measurements, with columns arm,reward or arm,reward,site: means and noise are theirs. "
            "A table with a row an item and a column an arm says also what items would save.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="name=value", help=SET_HELP),
    ] = None,
    rewards: Rewards = None,
    noise: Noise = None,
    offsets: Offsets = None,
    drift: Drift = 0.0,
    interactions: Interactions = 0.0,
    budget: Annotated[
        int | None, typer.Option(help="Samples of all sites together.  [default: the problem's]")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs for each gap.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same runs.")] = 0,
    plot: Annotated[Path | None, typer.Option(metavar="out.png", help="Draw a figure: .png, .svg or .pdf.")] = (
        None
    ),
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Say how many samples and communications a study will take, from simulated runs."""
    if plot is not None:
        from bestarm.plot import check_path

        check_path(plot)
    parameters: dict[str, Any] = {**parse_parameters(set or [])}
    for key in inspect.signature(expect).parameters:
        if key in parameters:
            raise UserError(f"{method} has no parameter {key!r}; there may be an option for it.")
    world = read_world(rewards, noise, offsets, drift, interactions)
    read = Problem.load(problem)
    wanted = None if gaps is None else numbers("--gaps", gaps)
    factors = None if gap_over_noise is None else numbers("--gap-over-noise", gap_over_noise)
    known = read.means is not None or (pilot is not None and not read.linear)
    rows = len(wanted or factors or ()) or (1 if known else len(GAPS))
    with saying_when_compiling(None), Progress(runs * rows, "estimate") as progress:
        found = expect(
            read,
            method,
            agents,
            wanted,
            runs,
            seed,
            pilot=pilot,
            gap_over_noise=factors,
            budget=budget,
            progress=progress,
            **world.given,
            **parameters,
        )
    if plot is not None:
        found.plot(plot)
    if format is Format.json:
        print_json(found.to_json())
    else:
        print_table(*describe(found))


def describe(found: Estimate) -> list[Table | str]:
    """The estimate as a person reads it."""
    problem = found.problem
    title = (
        f"{found.method} on {problem.name}: {problem.K} arms, {count(found.agents, 'agent')}, sigma "
        f"{sigma_word(problem)}, delta {problem.delta:g}, epsilon {problem.epsilon:g}; "
        f"{count(found.runs, 'run')} for each gap, seed {found.seed}"
        + (f"; {settings(found.world.words)}" if found.world.words else "")
    )
    limited = found.rows[0].spending is not None
    heads = ["gap", "samples", "95 %", "5–95 % of runs", "a site", "communications", "× lower"]
    table = make_table(*heads, *(["decided", "ruled out"] if limited else []))
    for row in found.rows:
        table.add_row(*cells(row))
    legend = (
        "samples: the mean of the runs, and where the expected number lies at 95 %; then what most runs take. "
        "a site: samples for each of them, if all are equally fast. × lower: multiples of the lower bound for "
        "Gaussian rewards."
    )
    sentences = [found.assumption, legend, *bought(found), *undecided(found)]
    return [title, table, *sentences]


def bought(found: Estimate) -> list[str]:
    """What the last two columns are, where there is a budget."""
    spending = found.rows[0].spending
    if spending is None:
        return []
    if len(found.rows) == 1:
        return [str(spending)]
    return [
        f"decided: how likely a budget of {count(spending.budget, 'sample')} is to decide; ruled out: where it "
        f"does not, how many of the {spending.others} worse arms are ruled out on average."
    ]


def cells(row: Expectation) -> list[str]:
    """A line of the table."""
    low, high = row.interval
    return [
        f"{row.gap:.4g}",
        number(round(row.samples.mean)),
        f"{number(round(low))}–{number(round(high))}",
        f"{number(round(row.samples.low))}–{number(round(row.samples.high))}",
        number(row.samples_per_agent),
        number(round(row.communications.mean)),
        "" if row.samples_to_lower is None else number(row.samples_to_lower),
        *([] if row.spending is None else spent(row.spending)),
    ]


def spent(spending: Spending) -> list[str]:
    """What a budget buys, in two cells."""
    low, high = (f"{100 * end:.0f}" for end in spending.interval)
    out = "–" if spending.ruled_out is None else f"{spending.ruled_out:.1f}"
    return [f"{100 * spending.share:.0f} % ({low}–{high})", out]


def undecided(found: Estimate) -> list[str]:
    """A sentence if runs ended at the limit of samples."""
    total = sum(row.unfinished for row in found.rows)
    return [f"Undecided runs: {total}; they end at the limit, so the means are too small."] if total else []
