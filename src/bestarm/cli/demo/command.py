"""`bestarm demo`: ten labs of different speeds find the best of five ligands, live."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from bestarm.cli.demo.in_process import Show
from bestarm.cli.demo.machine import MOST_LABS, Machine, missing
from bestarm.cli.demo.problem import AXIS, TITLE, truth
from bestarm.cli.demo.processes import Processes
from bestarm.cli.demo.view import Snapshot, line, picture
from bestarm.cli.output import (
    Format,
    count,
    make_table,
    number,
    percent,
    plain_console,
    print_json,
    print_table,
    say,
)
from bestarm.errors import UserError, either
from bestarm.methods import Kind, Method, federated
from bestarm.methods import method as build_method
from bestarm.methods.compose import fitting
from bestarm.simulation.api import simulate
from bestarm.simulation.schedule import Schedule
from bestarm.theory import bounds

SECONDS = 20.0  # that the show within this process takes
USUAL = 1000  # experiments that all labs together do at their usual pace
FAST = 10.0
PAPER = "famabpe"  # the paper's method, which the others are compared with

EXAMPLES = """\b
Examples:
  bestarm demo
  bestarm demo --seed 7 --agents 20
  bestarm demo --method famabpe --fast
  bestarm demo --in-process

The experiments are simulated; the server and the labs are real processes that talk over HTTP, each lab with
its journal. One lab is killed and started again on the way, and one never comes back. A bar shows where the
yield of a ligand lies, given what the server knows. The study ends when the evidence is complete. Ctrl-C
leaves no process and no file behind.
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def possible() -> list[str]:
    """The methods that the demo can show: those whose agents work at their own pace, without features."""
    return [name for name in fitting(truth(), 1) if name in federated()]


@dataclass(frozen=True)
class Ended:
    """How a demo came out; `events` is what befell the labs, `checked` how many uploads were replayed."""

    arm: str | None
    samples: int
    communications: int
    last: Snapshot
    events: tuple[str, ...] = ()
    checked: int | None = None


@app.command(epilog=EXAMPLES)
def demo(
    method: Annotated[str, typer.Option(help=f"{either(possible())}.")] = "sharp",
    seed: Annotated[int, typer.Option(help="Another seed, other experiments.")] = 0,
    agents: Annotated[int, typer.Option(help="How many labs.")] = 10,
    fast: Annotated[bool, typer.Option("--fast", help="Don't take time to show it.")] = False,
    in_process: Annotated[
        bool,
        typer.Option("--in-process", help="Without server and lab processes; the seed fixes all that happens."),
    ] = False,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """A server and ten labs on this machine find the best of five ligands, live, in under a minute."""
    if seed < 0:
        raise UserError(f"--seed is {seed}; it must be a whole number of at least 0.")
    built = build_method(method, truth(), agents)
    if built.kind is not Kind.FEDERATED:
        raise UserError(f"{method} has no agents at their own pace; take {either(possible())}.")
    reason = None if in_process else obstacle(agents)
    if reason:
        say(f"{reason} This is the demo within one process.")
    console = Console(quiet=format is Format.json)
    show = Show(built, seed)
    if in_process or reason:
        ended = within(show, console, 0.0 if fast else SECONDS)
    else:
        ended = on_this_machine(built, seed, console, haste(show) * (FAST if fast else 1.0))
    found = summary(built, seed, ended, show.schedule)
    if format is Format.json:
        print_json(found)
    else:
        print_verdict(found, ended)


def haste(show: Show) -> float:
    """How much faster the labs must be, so that a method that needs many experiments is done in time too."""
    return max(1.0, show.run_through().samples / USUAL)


def obstacle(agents: int) -> str | None:
    """Why there can't be a process for the server and for each lab, or None."""
    absent = missing()
    if absent is not None:
        return f"{absent} is not installed, so there is no server; pip install 'bestarm[server]' brings it."
    if agents > MOST_LABS:
        return f"{agents} labs are too many processes for a demo; it starts at most {MOST_LABS}."
    return None


def within(show: Show, console: Console, seconds: float) -> Ended:
    """All in this process: as a picture that moves, as lines, or without looking."""
    if console.quiet:
        federation = show.run_through()
    elif console.is_terminal:
        federation = show.run_live(console, seconds)
    else:
        federation = show.run_in_lines()
    arm = federation.server.verdict.arm
    return Ended(arm, federation.samples, federation.communications, federation.snapshot(TITLE))


def on_this_machine(method: Method, seed: int, console: Console, haste: float) -> Ended:
    """Server and labs as processes, and their log checked in the end."""
    from bestarm.service.view.exports.verify import verify

    with Processes() as processes, closing(Machine(processes, method, seed, haste)) as machine:
        if not console.quiet:
            print_opening(machine)
        watch = watch_live if console.is_terminal and not console.quiet else watch_in_lines
        last = watch(machine, console)
        export = machine.export()
        verdict = verify(export)
        return Ended(
            verdict.arm,
            machine.samples,
            machine.communications,
            last,
            tuple(machine.events),
            len(export["uploads"]),
        )


def print_opening(machine: Machine) -> None:
    """The question, and where to look at it in a browser."""
    out = plain_console()
    out.print(f"{TITLE} {count(machine.method.agents, 'lab')} and a server find out.", soft_wrap=True)
    out.print(f"Dashboard until the end of the demo: {machine.url}/", soft_wrap=True)
    out.print(f"Token to look at it: {machine.viewer}", soft_wrap=True)


def watch_live(machine: Machine, console: Console) -> Snapshot:
    """As a picture that moves."""
    with Live(console=console, auto_refresh=False) as live:
        for snapshot in machine.pictures():
            live.update(picture(snapshot, AXIS), refresh=True)
    return snapshot


def watch_in_lines(machine: Machine, console: Console) -> Snapshot:
    """As lines of text: one for each tenth of the evidence, and one for each thing that befalls a lab."""
    told, heard = -1, 0
    for snapshot in machine.pictures():
        for event in machine.events[heard:]:
            console.print(event, soft_wrap=True, markup=False, highlight=False)
        heard = len(machine.events)
        tenths = int(10 * min(snapshot.evidence, 1.0))
        if tenths > told or snapshot.stopped:
            told = tenths
            console.print(line(snapshot), soft_wrap=True, markup=False, highlight=False)
    return snapshot


def summary(method: Method, seed: int, ended: Ended, schedule: Schedule) -> dict[str, Any]:
    """The verdict, beside theory and beside another method's run on the same problem."""
    problem, agents = method.problem, method.agents
    other = "sharp" if method.name == PAPER else PAPER
    run = simulate(problem, other, agents, runs=1, seed=seed, engine="rounds", schedule=schedule)
    theory = bounds(problem, PAPER, agents)
    assert theory is not None
    return {
        "method": method.name,
        "agents": agents,
        "seed": seed,
        "arm": ended.arm,
        "delta": problem.delta,
        "samples": ended.samples,
        "communications": ended.communications,
        "other": {
            "method": other,
            "samples": int(run.samples[0]),
            "communications": int(run.communications[0]),
        },
        "famabpe_bounds": {"samples": theory.samples, "communications": theory.communications},
        "lower_bound": theory.lower,
        "events": list(ended.events),
        "uploads_replayed": ended.checked,
    }


def print_verdict(found: dict[str, Any], ended: Ended) -> None:
    """What was found, what is promised, and what it cost."""
    other, theory = found["other"], found["famabpe_bounds"]
    table = make_table("", "samples", "communications")
    for label, cost in (
        (f"{found['method']}, this run", found),
        (f"{other['method']}, one simulated run of the same labs", other),
        (f"{PAPER}, at most (the paper's theorem)", theory),
    ):
        table.add_row(label, number(cost["samples"]), number(cost["communications"]))
    table.add_row("any method, at least on average (lower bound)", number(found["lower_bound"]), "")
    slowest = ended.last.agents[-1]
    print_table(
        f"Verdict: {found['arm']} is the best.",
        f"Guarantee: of many such studies at most {percent(found['delta'])} end with a wrong answer, however "
        "fast or slow the labs are.",
        f"{slowest.name}, the slowest, did {slowest.samples:,} of {ended.samples:,} experiments; "
        "nobody waited for it.",
        *ended.events,
        *([] if ended.checked is None else [replayed(ended.checked)]),
        table,
    )


def replayed(uploads: int) -> str:
    """What the check of the log means."""
    return f"The log was replayed: {count(uploads, 'upload')}, none twice and none missing, the same verdict."
