"""`bestarm demo`: ten labs of different speeds find the best of five ligands, live."""

from __future__ import annotations

import string
import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.live import Live

from bestarm.cli.demo_view import Snapshot, picture
from bestarm.cli.federation import Federation
from bestarm.cli.output import Format, make_table, number, percent, print_json, print_table
from bestarm.errors import UserError
from bestarm.methods import Kind, Method
from bestarm.methods import method as build_method
from bestarm.problem import Problem
from bestarm.simulation.api import simulate
from bestarm.simulation.environment import environment
from bestarm.simulation.schedule import Schedule
from bestarm.theory import bounds

PROBLEM = """
name = "ligands"
delta = 0.05
sigma = 0.12
arm = [
  { name = "PPh3", mean = 0.72 },
  { name = "XPhos", mean = 0.80 },
  { name = "SPhos", mean = 0.772 },
  { name = "RuPhos", mean = 0.76 },
  { name = "dppf", mean = 0.736 },
]
"""
TITLE = "Which ligand gives the best yield?"
AXIS = (0.65, 0.9)  # of the picture
FASTEST, SLOWEST = 4.0, 0.1
SECONDS, FRAMES = 20.0, 12.0  # how long the show takes, and pictures a second
EASE = 0.7  # below 1: slower at the start, when every pull is news

EXAMPLES = """\b
Examples:
  bestarm demo
  bestarm demo --seed 7 --agents 20
  bestarm demo --method famabpe --fast

The rewards are simulated; the agents and the server are the ones that real labs run. A bar shows where the
yield of a ligand lies, given what the server knows. The study ends when the evidence is complete.
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def demo(
    method: Annotated[str, typer.Option(help="sharp or famabpe.")] = "sharp",
    seed: Annotated[int, typer.Option(help="Another seed, another course of events.")] = 0,
    agents: Annotated[int, typer.Option(help="How many labs.")] = 10,
    fast: Annotated[bool, typer.Option("--fast", help="Don't take time to show it.")] = False,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Labs of different speeds find the best of five ligands together, live, in under half a minute."""
    if seed < 0:
        raise UserError(f"--seed is {seed}; it must be a whole number of at least 0.")
    problem = Problem.from_toml(PROBLEM)
    built = build_method(method, problem, agents)
    if built.kind is not Kind.FEDERATED:
        raise UserError(f"{method} has no agents at their own pace; take sharp or famabpe.")
    show = Show(built, seed)
    console = Console()
    if format is Format.json:
        federation = show.run_through()
        print_json(summary(show, federation))
        return
    if console.is_terminal:
        federation = show.run_live(console, 0.0 if fast else SECONDS)
    else:
        federation = show.run_in_lines()
    print_verdict(show, federation)


@dataclass(frozen=True)
class Show:
    """One course of events, and three ways to look at it."""

    method: Method
    seed: int

    @property
    def schedule(self) -> Schedule:
        """Each lab is slower than the one before."""
        rates = np.geomspace(FASTEST, SLOWEST, self.method.agents) if self.method.agents > 1 else [1.0]
        return Schedule(tuple(float(f"{rate:.2g}") for rate in rates))

    def begin(self) -> Federation:
        """The federation before its first step."""
        letters = string.ascii_lowercase
        labs = [f"lab-{letters[m] if m < len(letters) else m + 1}" for m in range(self.method.agents)]
        return Federation(self.method, environment(self.method.problem), self.schedule, labs, self.seed)

    def run_through(self) -> Federation:
        """Without looking."""
        federation = self.begin()
        for _ in federation.steps():
            pass
        return federation

    def run_live(self, console: Console, seconds: float) -> Federation:
        """As a picture that moves. The course is fixed by the seed, so a first pass says how long it is."""
        last = self.run_through().samples if seconds else 1
        federation = self.begin()
        start, next_frame = time.monotonic(), 0.0
        with Live(console=console, auto_refresh=False) as live:
            for samples in federation.steps():
                due = seconds * (samples / last) ** EASE
                if seconds and due >= next_frame:
                    live.update(picture(federation.snapshot(TITLE), AXIS), refresh=True)
                    time.sleep(max(0.0, start + due - time.monotonic()))
                    next_frame = due + 1 / FRAMES
            live.update(picture(federation.snapshot(TITLE), AXIS), refresh=True)
        return federation

    def run_in_lines(self) -> Federation:
        """As lines of text: one for each tenth of the evidence."""
        federation = self.begin()
        print(f"{TITLE} {self.method.problem.K} ligands, {self.method.agents} labs, {self.method.name}.")
        told = 0
        for _ in federation.steps():
            tenths = int(10 * federation.server.verdict.evidence)
            if tenths > told or federation.server.stopped:
                told = tenths
                print(line(federation.snapshot(TITLE)))
        return federation


def line(snapshot: Snapshot) -> str:
    """A snapshot as one line."""
    counts = f"samples {snapshot.samples:>6,}  communications {snapshot.communications:>5,}"
    evidence = f"evidence {min(snapshot.evidence, 1.0):>4.0%}"
    return f"{counts}  {evidence}  leader {snapshot.leader}, challenger {snapshot.challenger}"


def summary(show: Show, federation: Federation) -> dict[str, Any]:
    """The verdict, beside theory and beside another method's run on the same problem."""
    problem, agents = show.method.problem, show.method.agents
    other = "sharp" if show.method.name == "famabpe" else "famabpe"
    run = simulate(problem, other, agents, runs=1, seed=show.seed, engine="rounds", schedule=show.schedule)
    theory = bounds(problem, "famabpe", agents)
    assert theory is not None
    return {
        "method": show.method.name,
        "agents": agents,
        "seed": show.seed,
        "arm": federation.server.verdict.arm,
        "delta": problem.delta,
        "samples": federation.samples,
        "communications": federation.communications,
        "other": {
            "method": other,
            "samples": int(run.samples[0]),
            "communications": int(run.communications[0]),
        },
        "famabpe_bounds": {"samples": theory.samples, "communications": theory.communications},
        "lower_bound": theory.lower,
    }


def print_verdict(show: Show, federation: Federation) -> None:
    """What was found, what is promised, and what it cost."""
    found = summary(show, federation)
    other, theory = found["other"], found["famabpe_bounds"]
    table = make_table("", "samples", "communications")
    for label, cost in (
        (f"{found['method']}, this run", found),
        (f"{other['method']}, one run of the same labs", other),
        ("famabpe, at most (the paper's theorem)", theory),
    ):
        table.add_row(label, number(cost["samples"]), number(cost["communications"]))
    table.add_row("any method, at least on average (lower bound)", number(found["lower_bound"]), "")
    slowest = federation.agents[-1].name
    print_table(
        f"Verdict: {found['arm']} is the best.",
        f"Guarantee: of many such studies at most {percent(found['delta'])} end with a wrong answer, however "
        "fast or slow the labs are.",
        f"{slowest}, the slowest, did {federation.samples_of[-1]:,} of {federation.samples:,} experiments; "
        "nobody waited for it.",
        table,
    )
