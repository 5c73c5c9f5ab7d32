"""Figures in one house style. matplotlib is loaded when a figure is made, and needs no screen."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.errors import UserError
from bestarm.methods import METHODS
from bestarm.theory import Bounds

if TYPE_CHECKING:
    from bestarm.simulation.result import Result

BOUND_COLOUR = "#444444"
# For methods that have no colour and mark of their own, in this order and then again. Like the colours after
# Okabe and Ito in the records they are safe for the colour-blind, and apart in grey too by the marks.
SPARE = (
    ("#332288", "h"),
    ("#882255", "*"),
    ("#999933", "<"),
    ("#44AA99", ">"),
    ("#000000", "p"),
    ("#AA4499", "d"),
)
SUFFIXES = (".png", ".svg", ".pdf")

STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "bestarm",
}


class Look(NamedTuple):
    """How a method is drawn."""

    colour: str
    mark: str


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """A colour and a mark for each method of a figure: its record's, the same in every figure, or spare ones.

    >>> looks(["sharp", "mine", "sharp"])
    {'sharp': Look(colour='#0072B2', mark='o'), 'mine': Look(colour='#332288', mark='h')}
    """
    spare = cycle(SPARE)
    found: dict[str, Look] = {}
    for name in dict.fromkeys(methods):
        recipe = METHODS.get(name)
        own = recipe is not None and Look(recipe.colour, recipe.mark)
        found[name] = own if own and all(own) else Look(*next(spare))
    return found


def look(method: str) -> Look:
    """The look of a method in a figure of its own."""
    return looks([method])[method]


@contextmanager
def style() -> Iterator[None]:
    """The house style, for every figure that is made or saved within.

    >>> with style():
    ...     import matplotlib
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    try:
        import matplotlib
    except ImportError:
        raise UserError('figures need matplotlib: pip install "bestarm[simulate]".') from None
    with matplotlib.rc_context(STYLE):
        yield


def check_path(path: str | os.PathLike[str]) -> Path:
    """A path that a figure can be saved to, before hours of work go into the figure."""
    checked = Path(path)
    if checked.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"a figure can't be saved as {checked.name!r}; the name must end in .png, .svg or .pdf."
        )
    if not checked.parent.is_dir():
        raise UserError(f"a figure can't be saved in {str(checked.parent)!r}; there is no such folder.")
    return checked


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of its name; whole or not at all."""
    checked = check_path(path)
    kind = checked.suffix.lower()[1:]
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)  # the same figure, the same bytes
    partial = checked.with_name(f".{checked.name}.part")
    try:
        with style():
            figure.savefig(partial, format=kind, metadata=dated)
        partial.replace(checked)
    except OSError as error:
        raise UserError(f"{checked}: the figure can't be written ({error.strerror}).") from None
    finally:
        partial.unlink(missing_ok=True)


def new_figure(columns: int, rows: int = 1, width: float = 9.0, height: float = 4.0) -> tuple[Any, Any]:
    """A figure and its axes; it belongs to no window, so it needs no screen and nobody has to close it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def plot_result(result: Result) -> Any:
    """How samples and communications are distributed over the runs, with the mean and the bounds as lines."""
    bounds = result.bounds or Bounds(None, None, math.inf)
    lines: dict[str, list[tuple[str, float | None, str]]] = {
        "samples": [("lower bound", bounds.lower, ":"), ("theorem's bound", bounds.samples, "--")],
        "communications": [("theorem's bound", bounds.communications, "--")],
    }
    with style():
        figure, panels = new_figure(2)
        for axes, (field, possible) in zip(panels, lines.items(), strict=True):
            known = [(label, at, dash) for label, at, dash in possible if at and at < math.inf]
            _distribution(axes, getattr(result, field), look(result.method).colour, known)
            axes.set_xlabel(field)
        panels[0].set_ylabel("runs")
        figure.suptitle(f"{result.method} on {_what(result)}, wrong: {result.wrong:,}", x=0.01, ha="left")
    return figure


def _what(result: Result) -> str:
    undecided = f", undecided: {result.unfinished:,}" if result.unfinished else ""
    return f"{result.problem.name} – agents: {result.agents}, runs: {result.runs:,}{undecided}"


def _distribution(axes: Any, each: Counts, colour: str, bounds: Sequence[tuple[str, float, str]]) -> None:
    low, high = float(each.min()), float(each.max())
    places = [low, high, *(at for _, at, _ in bounds)]
    if min(places) > 0 and max(places) > 4 * min(places):
        axes.set_xscale("log")
    if low == high:
        axes.axvline(low, color=colour, linewidth=4, label=f"every run {low:,.0f}")
        axes.tick_params(left=False, labelleft=False)
        if not bounds:
            axes.set_xlim(low - 1, low + 1)
            axes.set_xticks([low])
    else:
        bins = min(24, 2 + math.isqrt(each.size))
        edges = (np.geomspace if axes.get_xscale() == "log" else np.linspace)(low, high, bins + 1)
        axes.hist(each, bins=edges, color=colour, alpha=0.75)
        axes.axvline(each.mean(), color="black", label=f"mean {each.mean():,.0f}")
    for label, at, dash in bounds:
        axes.axvline(at, color=BOUND_COLOUR, linestyle=dash, label=f"{label} {at:,.0f}")
    plain_numbers(axes.xaxis)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, columnspacing=1.2, handlelength=1.6)


def plot_compare(results: Sequence[Result], labels: Sequence[str] | None = None) -> Any:
    """Samples against communications: one mark a method at its means, with lines from 5 to 95 % of the runs."""
    names = list(labels or [result.method for result in results])
    drawn = looks(result.method for result in results)
    with style():
        figure, axes = new_figure(1, width=8.0, height=4.8)
        seen: dict[str, int] = {}
        for result, name in zip(results, names, strict=True):
            variant = seen[result.method] = seen.get(result.method, -1) + 1
            _mark(axes, result, name, drawn[result.method], variant)
        bounds = results[0].bounds
        if bounds is not None and 0 < bounds.lower < math.inf:
            label = f"lower bound {bounds.lower:,.0f}"
            axes.axvline(bounds.lower, color=BOUND_COLOUR, linestyle=":", label=label)
        axes.set_xscale("log")
        most = max(float(result.communications.max()) for result in results)
        if all(result.communications.min() > 0 for result in results):
            axes.set_yscale("log")
        elif most > 0:  # a single agent sends nothing
            axes.set_yscale("symlog", linthresh=10)
            axes.set_ylim(-2, 2 * max(most, 10))
        for axis in (axes.xaxis, axes.yaxis):
            plain_numbers(axis)
        axes.set_xlabel("samples")
        axes.set_ylabel("communications")
        axes.set_title(_what(results[0]))
        figure.legend(loc="outside right upper")
    return figure


def _mark(axes: Any, result: Result, label: str, drawn: Look, variant: int) -> None:
    """One method; a second one with other settings has a hollow mark, a third a small one, and so on."""
    samples, sent = result.summary(), result.summary("communications")
    axes.errorbar(
        samples.mean,
        sent.mean,
        xerr=[[max(samples.mean - samples.low, 0)], [max(samples.high - samples.mean, 0)]],
        yerr=[[max(sent.mean - sent.low, 0)], [max(sent.high - sent.mean, 0)]],
        color=drawn.colour,
        marker=drawn.mark,
        markersize=(8, 8, 5, 5)[variant % 4],
        markerfacecolor="white" if variant % 2 else drawn.colour,
        linestyle="none",
        elinewidth=1.0,
        label=label,
    )


def plot_trace(rows: Floats, epsilon: float = 0.0, method: str = "sharp") -> Any:
    """One run: breaking index and evidence over the samples that the server knows.

    Parameters
    ----------
    rows: what `Engine.trace` gives, one row an upload: samples, time, breaking index, evidence.
    epsilon: where the breaking index has to fall.
    method: whose colour is used.
    """
    colour = look(method).colour
    with style():
        figure, (above, below) = new_figure(1, rows=2, width=8.0, height=5.2)
        index = rows[np.isfinite(rows[:, 2])]
        above.plot(index[:, 0], index[:, 2], color=colour, label=method)
        above.axhline(epsilon, color=BOUND_COLOUR, linestyle="--", label=f"epsilon {epsilon:g}: stop")
        # The first uploads are off the scale: what counts is how the index comes down to epsilon.
        settled = index[index[:, 0] >= 0.1 * rows[-1, 0], 2]
        if settled.size:
            low = min(epsilon, float(settled.min())) - 0.05 * float(np.ptp(settled))
            above.set_ylim(low, float(settled.max()))
        else:  # a test that looks at each arm by itself has no such index
            above.set_visible(False)
        above.set_ylabel("breaking index")
        above.legend(loc="upper right")
        below.plot(rows[:, 0], rows[:, 3], color=colour)
        below.axhline(1.0, color=BOUND_COLOUR, linestyle="--")
        below.set_ylim(bottom=0)
        below.set_ylabel("evidence")
        below.set_xlabel("samples known to the server")
        for axes in (above, below):
            plain_numbers(axes.xaxis)
        above.sharex(below)
        figure.align_ylabels()
    return figure


def plain_numbers(axis: Any) -> None:
    """1,000 and not 10³: few people read powers of ten as fast. For an axis whose limits are known."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        subs = (1.0, 2.0, 5.0) if high < 50 * low else (1.0, 3.0) if high < 1000 * low else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_minor_formatter(NullFormatter())
