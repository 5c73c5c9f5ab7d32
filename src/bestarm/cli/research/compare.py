"""`bestarm compare`: several methods on the same problem, with the same seeds."""

from __future__ import annotations

from typing import Annotated

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
    say,
    settings,
    sigma_word,
    undecided_sentence,
)
from bestarm.cli.progress import Progress, saying_when_compiling
from bestarm.cli.research.options import Options, Simulation, with_options
from bestarm.cli.research.run import run
from bestarm.comparison import WORLDS, Comparison, NamedWorld
from bestarm.comparison import compare as compare_methods
from bestarm.comparison.text import promise_word
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
  bestarm compare --worlds stairs,offsets --methods sharp,eb-tci,uniform --runs 200 --plot field.png

A method's own settings follow its name after colons, so one rule at a time can be exchanged. --set goes to
all methods. --worlds takes the place of a problem: {", ".join(WORLDS)}; all is all of them.
The single-agent baselines ({ALONE}) send no messages and take no notice of --agents.
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
    worlds: Annotated[
        str | None,
        typer.Option(metavar="NAME,…|all", help="Worlds with a name, instead of a problem; see below."),
    ] = None,
) -> None:
    """Run several methods on the same problem with the same seeds, in one table."""
    if worlds is not None:
        in_worlds(options, worlds, methods)
        return
    simulation = options.read()
    built = read_methods(simulation, methods, parse_parameters(options.set or []))
    labels = [label for label, _ in built]
    results = run(simulation, built)
    if options.plot is not None:
        save(plot_compare(results, labels), options.plot)
    if options.format is Format.json:
        print_json([{"label": label} | result.to_json() for label, result in zip(labels, results, strict=True)])
    else:
        against = {
            label: NamedWorld("", "", result.problem, result.world).against(method)
            for (label, method), result in zip(built, results, strict=True)
        }
        print_table(*describe(results, against))


def in_worlds(options: Options, worlds: str, methods: str) -> None:
    """The same in worlds that have a name; who does not fit into one is left out there."""
    if options.about_the_problem:
        raise UserError(
            f"--worlds brings its own problems; leave {' and '.join(options.about_the_problem)} out."
        )
    options.check_places()
    schedule, engine = options.read_schedule()
    names = list(WORLDS) if worlds == "all" else [name.strip() for name in worlds.split(",")]
    labels = [with_settings(label.strip(), options.set or []) for label in methods.split(",")]
    with saying_when_compiling(engine), Progress(options.runs * len(names) * len(labels)) as progress:
        found = compare_methods(
            names,
            labels,
            agents=schedule.agents,
            runs=options.runs,
            seed=options.seed,
            engine=engine,
            schedule=schedule,
            max_samples=options.max_samples,
            jobs=options.jobs,
            cluster=options.cluster,
            progress=progress,
        )
    if options.plot is not None:
        found.plot(options.plot)
    for world, label, why in found.left_out:
        say(f"{label} is left out in {world}: {why}")
    if options.format is Format.json:
        print_json(found.rows)
        return
    for world in dict.fromkeys(entry.world for entry in found.entries):
        print_table(*describe_world(world, found))


def with_settings(label: str, common: list[str]) -> str:
    """A method with the settings that go to all; its own come after them, and count.

    >>> with_settings("famabpe:gamma=0.1", ["min_batch=2"])
    'famabpe:min_batch=2:gamma=0.1'
    """
    name, *own = label.split(":")
    return ":".join([name, *common, *own])


def describe_world(world: str, found: Comparison) -> list[Table | str]:
    """One world as a person reads it, the fewest samples first."""
    there = [entry for entry in found.entries if entry.world == world]
    table = make_table("method", "samples", "communications", "wrong", "promise")
    for entry in sorted(there, key=lambda entry: entry.result.summary().mean):
        samples, sent = entry.result.summary(), entry.result.summary("communications")
        table.add_row(
            entry.label,
            mean_and_error(samples.mean, samples.stderr),
            mean_and_error(sent.mean, sent.stderr),
            percent(entry.result.wrong / entry.result.runs),
            promise_word(entry),
        )
    first = there[0].result
    delta = percent(first.problem.delta)
    return [f"{world}: {WORLDS[world].help}; {first.problem.K} arms, promised are at most {delta} wrong", table]


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


def describe(results: list[Result], against: dict[str, str]) -> list[Table | str]:
    """The comparison as a person reads it; `against` has for each method why it promises nothing, if so."""
    first, labels = results[0], list(against)
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
    if all(against.values()):
        promise = "Wrong answers: nothing is promised here."
    silent = [f"Nothing is promised of {label}: {why}." for label, why in against.items() if why]
    lower = ""
    if bounds is not None and first.ratios["samples_to_lower"] is not None:
        lower = f"Lower bound for any method, with Gaussian rewards: {number(bounds.lower)} samples on average."
    sentences = [lower, promise, *silent, undecided_sentence(results, labels)]
    return [title, table, *(sentence for sentence in sentences if sentence)]
