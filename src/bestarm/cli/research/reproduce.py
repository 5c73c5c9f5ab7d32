"""`bestarm reproduce`: the paper's experiments, with figures, numbers and a report."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bestarm.cli.output import Format, errors, make_table, print_json, print_table, say
from bestarm.errors import UserError
from bestarm.experiments.synthetic import INSTANCES

EXAMPLES = """\b
Examples:
  bestarm reproduce mab --out out
  bestarm reproduce linear --out out --instance orthogonal --runs 100
  bestarm reproduce movielens --data ml-20m.zip --out out
  bestarm reproduce all --data ml-latest-small --min-ratings 500 --out out

Writes report.html, runs.csv, summary.csv, claims.csv and figures into the folder. What is finished is kept
there: a command that was interrupted goes on where it stopped. Nothing is downloaded; MovieLens comes from
GroupLens (grouplens.org).
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class What(StrEnum):
    """The experiments."""

    mab = "mab"
    linear = "linear"
    movielens = "movielens"
    all = "all"


@app.command(epilog=EXAMPLES)
def reproduce(
    what: Annotated[What, typer.Argument(help="Which experiments.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for report, numbers and figures.")],
    runs: Annotated[int, typer.Option(help="Runs of every method at every gap; the paper has 10.")] = 10,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers, whatever --jobs is.")] = 0,
    instance: Annotated[
        str,
        typer.Option(
            metavar="|".join(INSTANCES), help="linear: a new instance each run, or the orthogonal one."
        ),
    ] = INSTANCES[0],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="movielens: a folder or zip with ratings.csv, tags.csv and movies.csv."
        ),
    ] = None,
    min_ratings: Annotated[
        int, typer.Option(help="movielens: keep the users who have more ratings than this.")
    ] = 3000,
    jobs: Annotated[
        int | None, typer.Option(help="Processes on this machine.  [default: one for each core]")
    ] = None,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Run the paper's experiments again, and say which of its statements hold."""
    try:
        from bestarm.experiments.api import EXPERIMENTS
        from bestarm.experiments.api import reproduce as run
        from bestarm.sweeps.work import default_jobs
    except ImportError as error:
        raise UserError(f'{error.name} is missing: pip install "bestarm[experiments]".') from None
    started = time.perf_counter()
    try:
        with Waiting() as progress:
            claims = run(
                EXPERIMENTS if what is What.all else [what.value],
                out,
                runs=runs,
                seed=seed,
                instance=instance,
                data=data,
                min_ratings=min_ratings,
                jobs=default_jobs() if jobs is None else jobs,
                progress=progress,
            )
    except KeyboardInterrupt:
        say(f"what is finished is kept in {out}; the same command goes on from there.")
        raise
    report = out / "report.html"
    if format is Format.json:
        print_json({"report": str(report), "claims": [asdict(claim) for claim in claims]})
        return
    table = make_table("claim", "holds", "the paper says")
    table.columns[2].justify, table.columns[2].no_wrap = "left", False
    for claim in claims:
        table.add_row(claim.name, claim.verdict, claim.says)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in Counter(c.verdict for c in claims).items())
    seconds = time.perf_counter() - started
    print_table(table, f"{len(claims)} statements: {counts}. {seconds:.0f} s.", f"Written: {report}")


class Waiting:
    """A bar on stderr with the time left, where there is a terminal."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("+"))
        self._bar = Bar(
            *columns,
            TimeRemainingColumn(),
            TextColumn("left"),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Waiting:
        self._bar.start()
        return self

    def __call__(self, stage: str, done: float, total: float) -> None:
        """So many of the expected seconds of a stage are done; a stage of 0 seconds has no end to show."""
        self._bar.update(self._task, description=stage, completed=done, total=total or None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
