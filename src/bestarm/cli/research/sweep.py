"""`bestarm sweep`: a grid of simulations from a TOML file, continued where it stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bestarm.cli.output import (
    Format,
    count,
    make_table,
    mean_and_error,
    number,
    print_json,
    print_table,
    say,
)
from bestarm.cli.progress import PATIENCE, Progress
from bestarm.errors import UserError
from bestarm.sweeps.api import Sweep, run_grid, runs_path
from bestarm.sweeps.cell import Cell
from bestarm.sweeps.grid import load_grid

app = typer.Typer(rich_markup_mode=None, add_completion=False)

TOLD_APART = ("problem", "sigma", "delta", "epsilon", "method", "agents", "seed")


@app.command(
    epilog="""\b
Examples:
  bestarm sweep sweep.toml --out results.csv
  bestarm sweep sweep.toml --out results.parquet --jobs 2
  bestarm sweep sweep.toml --out runs.csv --each --cluster tcp://host:8786
"""
)
def sweep(
    file: Annotated[Path, typer.Argument(metavar="sweep.toml", help="The grid; docs/sweeps.md explains it.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="results.csv|.parquet",
            help="Where the results go. Finished runs are kept beside it, and the same command continues.",
        ),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Write one row a run instead of one a cell.")] = False,
    runs: Annotated[int | None, typer.Option(help="Runs of each cell, instead of the file's.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes on this machine.  [default: one for each core]")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="tcp://…", help="The address of a Dask scheduler, instead of --jobs.")
    ] = None,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Simulate every combination of the file's problems, methods, parameters, agents and seeds.

    The results are the same for every --jobs and --cluster. After Ctrl-C the same command with the same --out
    continues; a cell whose specification was changed is made anew.
    """
    if jobs is not None and cluster is not None:
        raise UserError("--jobs and --cluster are both given; the work is done in one place or the other.")
    if each and out is None:
        raise UserError("--each needs --out, the file for its rows.")
    cells = load_grid(file, runs)
    total = sum({cell.key: cell.runs for cell in cells}.values())
    try:
        with (
            Progress(total, f"{count(len(cells), 'cell')}:") as progress,
            saying_why_nothing_is_finished(cells, progress) as told,
        ):
            found = run_grid(cells, out, each, jobs, cluster, told)
    except KeyboardInterrupt:
        say(_interrupted(out, progress.finished, total))
        raise
    if format is Format.json:
        print_json([{key: _plain(value) for key, value in row.items()} for row in found.rows])
    else:
        print_table(_table(found), *([f"Written to {out}."] if out else []))


@contextmanager
def saying_why_nothing_is_finished(cells: list[Cell], progress: Progress) -> Iterator[Callable[[int], None]]:
    """The progress, and a sentence about compilation if no run is finished after a while."""
    waiting = threading.Timer(PATIENCE, say, ["compiling each method, once; it is cached afterwards …"])
    waiting.daemon = True

    def told(finished: int) -> None:
        if finished:
            waiting.cancel()
        progress(finished)

    if any(cell.engine == "events" for cell in cells):
        waiting.start()
    try:
        yield told
    finally:
        waiting.cancel()


def _interrupted(out: Path | None, finished: int, total: int) -> str:
    if out is None:
        return "nothing is kept without --out."
    kept = f"{finished:,} of {count(total, 'run')} are kept in {runs_path(out)}"
    return f"{kept}; the same command continues there."


def _plain(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _table(found: Sweep) -> Table:
    """One line a cell, with what tells the cells apart."""
    rows = found.rows
    told = [key for key in TOLD_APART if key == "method" or len({row[key] for row in rows}) > 1]
    for key in ("gap", "arms"):  # what problems of one name may differ in
        if len({(row["problem"], row[key]) for row in rows}) > len({row["problem"] for row in rows}):
            told.insert(told.index("problem") + 1 if "problem" in told else 0, key)
    table = make_table(*told, "samples", "communications", "wrong", "× lower bound")
    for cell, row in zip(found.cells, rows, strict=True):
        shown = {key: str(row[key]) for key in told}
        shown["method"] = " ".join([cell.method, *_differing(cell, found.cells)])
        table.add_row(
            *shown.values(),
            *(mean_and_error(row[f"{x}_mean"], row[f"{x}_stderr"]) for x in ("samples", "communications")),
            str(row["wrong"]) + (f" (+{row['unfinished']} undecided)" if row["unfinished"] else ""),
            "" if row["samples_to_lower"] is None else number(row["samples_to_lower"]),
        )
    return table


def _differing(cell: Cell, cells: tuple[Cell, ...]) -> list[str]:
    """The parameters in which the cells of a method differ; their defaults may differ between problems."""
    alike = [
        other.parameters
        for other in cells
        if (other.method, other.problem, other.agents) == (cell.method, cell.problem, cell.agents)
    ]
    return [
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in cell.parameters.items()
        if len({other[name] for other in alike}) > 1
    ]
