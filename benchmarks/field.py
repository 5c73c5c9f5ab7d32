"""The field beside us: every method in every world, with samples, messages and error rates, and one picture.

    python benchmarks/field.py                     # everything
    python benchmarks/field.py --worlds stairs,offsets --methods sharp,eb-tci --runs 200
    python benchmarks/field.py --part beside       # beside other people's numbers

Runs are kept in the folder --out as they finish: the same command goes on where it was broken off. There are
also the tables (field.md), every cell with its CPU seconds (field.csv), and the picture (field.svg).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import bestarm
from bestarm.comparison import WORLDS, Comparison
from bestarm.comparison.api import Entry
from bestarm.comparison.text import across
from bestarm.methods.likes import make_method, split_name
from bestarm.sweeps.api import run_grid
from bestarm.sweeps.cell import Cell

METHODS = (
    *(
        "sharp",
        "sharp:stopping=rule-out",
        "sharp:stopping=pairs",
        "famabpe",
        "falinpe",
        "ugapec",
        "lingape",
    ),
    *("rage", "rage:stopping=span", "track-and-stop", "eb-tci", "eb-tci:stopping=pairs", "t3c", "ttts", "lucb"),
    *("kl-lucb", "lil-ucb", "lil-ucb:constants=heuristic", "elimination", "sync-elimination", "fed-sel"),
    *("uniform", "peeking"),
)
TABLES = {
    "Where every promise can hold": ("equal", "rival", "stairs", "many", "noises", "sigma-double", "no-sigma"),
    "Features, and yes/no outcomes": ("linear", "rates-30", "rates-2"),
    "Where sites differ, time passes, or sigma is wrong": (
        *("offsets", "drift", "interactions", "sigma-half", "heavy"),
    ),
}
ONLY = {"sharp:stopping=pairs": ("rates-30", "rates-2")}  # elsewhere it is what sharp does, or sites differ
# A run that has counted so many samples ends undecided.
CAP, CAPS = 100_000, {"linear": 1_000_000, "rates-2": 1_000_000}
# CPU seconds of 1,000 runs where these are many, as measured: such a pair gets fewer runs.
SECONDS = {
    ("linear", "track-and-stop"): 260, ("linear", "ttts"): 1700, ("linear", "eb-tci:stopping=pairs"): 700,
    ("linear", "lil-ucb"): 500, ("linear", "lucb"): 40, ("linear", "elimination"): 25, ("linear", "eb-tci"): 20,
    ("linear", "t3c"): 21, ("rates-2", "track-and-stop"): 1660, ("rates-2", "ttts"): 800,
    ("rates-2", "eb-tci:stopping=pairs"): 400, ("rates-2", "kl-lucb"): 200, ("rates-2", "lil-ucb"): 510,
    ("rates-2", "lil-ucb:constants=heuristic"): 300, ("rates-2", "lucb"): 330, ("rates-2", "elimination"): 330,
    ("rates-2", "ugapec"): 130, ("rates-2", "eb-tci"): 17, ("rates-2", "t3c"): 17,
    ("rates-30", "track-and-stop"): 110, ("rates-30", "ttts"): 220, ("rates-30", "kl-lucb"): 52,
    ("rates-30", "lil-ucb"): 53, ("many", "ttts"): 93, ("many", "lil-ucb"): 19,
    ("many", "eb-tci:stopping=pairs"): 17, ("equal", "ttts"): 15, ("rival", "ttts"): 15,
    ("sigma-double", "ttts"): 31, ("interactions", "ttts"): 22,
}  # fmt: skip
PATIENCE, FEWEST = 12, 20  # CPU seconds for such a pair, and how many runs it has at least
BUDGETS = (5, 10, 20, 40)  # samples an arm
BUDGETED = {"stairs": 400, "rival": 400, "many": 200}  # and how many runs of ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("all", "worlds", "budgets", "beside"), default="all")
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", choices=("events", "rounds"), help="by default the one that suits a method")
    parser.add_argument("--out", type=Path, default=Path("out/field"))
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", bestarm.ProblemWarning)
    wanted.out.mkdir(parents=True, exist_ok=True)
    started, said = time.perf_counter(), []
    if wanted.part in ("all", "worlds"):
        said.append(worlds(wanted))
    if wanted.part in ("all", "budgets"):
        from field_budgets import budgets

        limits = {world: runs * wanted.runs // 1000 for world, runs in BUDGETED.items()}
        said.append(budgets(limits, BUDGETS, wanted.agents, wanted.runs, wanted.seed, wanted.jobs, wanted.out))
    if wanted.part in ("all", "beside"):
        from field_beside import beside_others

        said.append(beside_others(wanted.runs, wanted.seed, wanted.jobs))
    text = "\n\n".join(said)
    (wanted.out / "field.md").write_text(text + "\n")
    print(f"{text}\n\n{time.perf_counter() - started:.0f} s")


def worlds(wanted: argparse.Namespace) -> str:
    """Every method in every world, as tables; the picture and the rows are files beside."""
    cells: dict[tuple[str, str], Cell] = {}
    for world in wanted.worlds.split(","):
        for label in wanted.methods.split(","):
            if world not in ONLY.get(label, WORLDS):
                continue
            name, parameters = split_name(label)
            numbers = range(runs_of(world, label, wanted.runs))
            there, cap = WORLDS[world], CAPS.get(world, CAP)
            fixed = (wanted.agents, numbers, wanted.seed, wanted.engine, cap, there.world)
            try:
                cells[world, label] = Cell.of(there.problem, name, parameters, *fixed)
            except bestarm.UserError as error:
                print(f"left out: {label} in {world}: {str(error)[:100]}", file=sys.stderr)
    found = run_grid(list(cells.values()), wanted.out / "field.csv", jobs=wanted.jobs, progress=Shown(cells))
    entries = []
    for (world, label), result in zip(cells, found.results, strict=True):
        promised = WORLDS[world].promised(make_method(label, WORLDS[world].problem, wanted.agents))
        entries.append(Entry(world, label, promised, result))
    Comparison(tuple(entries)).plot(wanted.out / "field.svg")
    slow = sorted(entries, key=lambda entry: -entry.result.seconds)[:10]
    for entry in slow:
        print(f"{entry.result.seconds:6.1f} CPU seconds: {entry.label} in {entry.world}", file=sys.stderr)
    print(f"{sum(entry.result.seconds for entry in entries):6.0f} CPU seconds together", file=sys.stderr)
    tables = []
    for title, names in TABLES.items():
        part = [entry for name in names for entry in entries if entry.world == name]
        if part:
            tables.append(f"## {title}\n\n{across(Comparison(tuple(part)), wanted.runs)}")
    tables.append(f"## Messages\n\n{messages(entries)}")
    return "\n\n".join(tables)


def messages(entries: list[Entry]) -> str:
    """How many messages each method sends, a row a world; those of single agents send none."""
    labels = [label for label in dict.fromkeys(entry.label for entry in entries) if sent(entries, label)]
    lines = [f"| world | {' | '.join(labels)} |", "|---|" + "---|" * len(labels)]
    for world in dict.fromkeys(entry.world for entry in entries):
        there = sent([entry for entry in entries if entry.world == world])
        cells = [f"{there[label]:,.0f}" if label in there else "–" for label in labels]
        lines.append(f"| {world} | {' | '.join(cells)} |")
    return "\n".join(lines)


def sent(entries: list[Entry], label: str | None = None) -> dict[str, float]:
    """The messages of each method, or of one, that sends any."""
    means = {e.label: e.result.summary("communications").mean for e in entries if label in (None, e.label)}
    return {name: mean for name, mean in means.items() if mean > 0}


def runs_of(world: str, label: str, runs: int) -> int:
    """How many runs a pair gets: all, or as many as it makes in the time for slow ones."""
    seconds = SECONDS.get((world, label), 0)
    return runs if seconds <= PATIENCE else min(runs, max(FEWEST, 10 * round(100 * PATIENCE / seconds)))


class Shown:
    """Progress on stderr, every few seconds."""

    def __init__(self, cells: dict[tuple[str, str], Cell]) -> None:
        self.total = sum({cell.key: cell.runs for cell in cells.values()}.values())
        self.finished, self.said = 0, 0.0

    def __call__(self, more: int) -> None:
        self.finished += more
        if time.monotonic() - self.said > 5.0 or self.finished == self.total:
            self.said = time.monotonic()
            print(f"{self.finished:,} of {self.total:,} runs", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
