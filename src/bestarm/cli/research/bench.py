"""`bestarm bench`: how fast the simulators are, measured here and now, beside the targets."""

from __future__ import annotations

from typing import Annotated

import typer

from bestarm.benchmark import GROUPS, Measure, machine, measure
from bestarm.cli.output import Format, errors, make_table, print_json, print_table, say
from bestarm.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="""\b
Examples:
  bestarm bench
  bestarm bench --only gap
  bestarm bench --quick --format json
"""
)
def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="|".join(GROUPS), help="Only these measures; repeatable."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions and smaller tasks.")] = False,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """Measure the simulators on this machine, in one run: about three minutes, with --quick half of one.

    Times are CPU time of one core after compilation. benchmarks/README.md explains every number.
    """
    found: list[Measure] = []
    before = machine()
    if before["load"] > before["cores"] / 2:
        say(f"the machine is busy (load {before['load']} on {before['cores']} cores); the numbers will suffer.")
    try:
        with errors.status("measuring …") as status:
            for one in measure(only or (), quick):
                found.append(one)
                status.update(f"measured {one.name} …")
    except ImportError:
        raise UserError('a benchmark needs numba: pip install "bestarm[simulate]".') from None
    if format is Format.json:
        print_json({"machine": before, "quick": quick, "measures": [one.to_json() for one in found]})
        return
    table = make_table("measure", "value", "target", "met")
    for one in found:
        target = "" if one.target is None else f"{'<' if one.at_most else '≥'} {show(one.target, one.unit)}"
        met = {None: "", True: "yes", False: "no"}[one.met]
        table.add_row(one.name, show(one.value, one.unit), target, met)
    notes = [f"{one.name}: {one.note}." for one in found if one.note and not one.name.startswith("pulls.")]
    print_table(table, *notes)


def show(value: float, unit: str) -> str:
    """A measured number with three digits.

    >>> show(50137000, "pulls/s"), show(19312.4, "×"), show(2.508, "×"), show(0.6178, "s"), show(446, "MB")
    ('50.1 M pulls/s', '19,312 ×', '2.51 ×', '0.62 s', '446 MB')
    """
    if unit == "pulls/s":
        scale, letter = (1e6, "M") if value >= 1e6 else (1e3, "k")
        return (
            f"{value / scale:,.3g} {letter} {unit}" if value < 1e9 else f"{value / scale:,.0f} {letter} {unit}"
        )
    return f"{value:,.0f} {unit}" if value >= 100 or value == round(value) else f"{value:.2f} {unit}"
