"""The figures: samples and communications against the gap, and samples against communications."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bestarm.experiments.numbers import Line, Numbers
from bestarm.plot import (
    BOUND_COLOUR,
    look,
    new_figure,
    plain_numbers,
    save,
    style,
)

FOLDER = "figures"
BOUND = "lower-bound"
TITLES = {
    "mab": "Synthetic, separate arms",
    "linear": "Synthetic, arms with features",
    "movielens-10": "MovieLens, 10 films",
    "movielens-100": "MovieLens, 100 films",
}


class Series(NamedTuple):
    """How a variant is drawn: filled and solid, or hollow and dashed for a second variant of a method."""

    variant: str
    label: str
    second: bool = False


MAB = (
    Series("famabpe", "famabpe"),
    Series("ugapec", "ugapec (single agent)"),
    Series("sync-ugapec", "sync-ugapec"),
    Series("sharp", "sharp"),
)
LINEAR = (
    Series("falinpe", "falinpe (ratio)"),
    Series("falinpe selection=greedy", "falinpe (greedy)", second=True),
    Series("lingape", "lingape (single agent)"),
    Series("sync-lingape", "sync-lingape"),
    Series("famabpe", "famabpe (ignores features)", second=True),
    Series("sharp", "sharp"),
)


def series(experiment: str) -> tuple[Series, ...]:
    """What is drawn against the gap."""
    return MAB if experiment == "mab" else LINEAR


def write_figures(folder: Path, numbers: Numbers) -> list[str]:
    """Draw all figures of the experiments that there are numbers of, as PNG and SVG; returns their names."""
    (folder / FOLDER).mkdir(exist_ok=True)
    names = []
    for experiment in numbers.experiments():
        for name, figure in (
            (experiment, against_gap(numbers, experiment)),
            (f"{experiment}-tradeoff", tradeoff(numbers, experiment)),
        ):
            for suffix in ("png", "svg"):
                save(figure, folder / FOLDER / f"{name}.{suffix}")
            names.append(name)
    return names


def against_gap(numbers: Numbers, experiment: str) -> Any:
    """Samples and communications of each method against the gap; bars are 95 % intervals of the mean."""
    gaps = numbers.gaps(experiment)
    with style():
        figure, (left, right) = new_figure(2, width=10.5, height=4.2)
        for one in series(experiment):
            lines = numbers.of(experiment, one.variant)
            _curve(left, lines, "samples", one)
            if all(line.communications > 0 for line in lines):
                _curve(right, lines, "communications", one._replace(label="_"))
        bound = numbers.of(experiment, BOUND)
        left.plot(
            [line.gap for line in bound],
            [line.samples for line in bound],
            color=BOUND_COLOUR,
            linestyle=":",
            label="lower bound (any method)",
        )
        for axes, name in ((left, "samples (pulls of all agents)"), (right, "communications (messages)")):
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
            axes.set_xticks(gaps, [f"{gap:g}" for gap in gaps])
            axes.set_xlabel("gap (units of reward)")
            axes.set_ylabel(name)
        right.set_title("single agents send nothing", fontsize=9, loc="right", color=BOUND_COLOUR)
        figure.suptitle(_title(numbers.of(experiment, "sharp")[0]), x=0.01, ha="left", fontsize=11)
        figure.legend(loc="outside right center")
    return figure


def tradeoff(numbers: Numbers, experiment: str) -> Any:
    """Samples against communications at the smallest gap, one curve a method over its parameters."""
    gap = numbers.gaps(experiment)[0]
    with style():
        figure, axes = new_figure(1, width=9.5, height=5.8)
        for method in _methods(experiment):
            _parameter_curve(axes, numbers.variants(experiment, method, gap), method)
        alone = numbers(experiment, "ugapec" if experiment == "mab" else "lingape", gap)
        axes.axhline(
            alone.samples,
            color=look(alone.method).colour,
            linestyle="--",
            label=f"{alone.method} (single agent, sends nothing)",
        )
        bound = numbers(experiment, BOUND, gap)
        axes.axhline(bound.samples, color=BOUND_COLOUR, linestyle=":", label="lower bound (any method)")
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        axes.margins(x=0.12)
        axes.set_xlabel("communications (messages)")
        axes.set_ylabel("samples (pulls of all agents)")
        figure.suptitle(
            f"{_title(numbers(experiment, 'sharp', gap))}, gap {gap:g}", x=0.01, ha="left", fontsize=11
        )
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def _methods(experiment: str) -> tuple[str, ...]:
    return (
        ("famabpe", "sync-ugapec", "sharp")
        if experiment == "mab"
        else ("falinpe", "sync-lingape", "famabpe", "sharp")
    )


def _curve(axes: Any, lines: Sequence[Line], field: str, one: Series) -> None:
    if not lines:
        return
    method = lines[0].method
    (colour, mark), values = look(method), [getattr(line, field) for line in lines]
    low = [
        value - max(getattr(line, f"{field}_low"), value / 10)
        for line, value in zip(lines, values, strict=True)
    ]
    high = [getattr(line, f"{field}_high") - value for line, value in zip(lines, values, strict=True)]
    axes.errorbar(
        [line.gap for line in lines],
        values,
        yerr=[low, high],
        color=colour,
        marker=mark,
        markersize=8 if one.second else 5.5,
        markerfacecolor="none" if one.second else colour,
        linestyle=(0, (4, 2)) if one.second else "-",
        capsize=2.5,
        elinewidth=1.0,
        label=one.label,
    )


def _parameter_curve(axes: Any, lines: Sequence[Line], method: str) -> None:
    """One curve over a method's parameters: the settings that no other setting beats in both costs."""
    colour, marker = look(method)
    label = {"famabpe": "famabpe (over γ)", "falinpe": "falinpe (over γ₁, γ₂)", "sharp": "sharp (over thrift)"}
    names = label | dict.fromkeys(("sync-ugapec", "sync-lingape"), f"{method} (over period)")
    best = front(lines)
    axes.plot(
        [line.communications for line in best],
        [line.samples for line in best],
        color=colour,
        marker=marker,
        markersize=6,
        linestyle="-" if len(best) > 1 else "none",
        label=names[method] if len(lines) > 1 else f"{method} (ignores features)",
    )
    rest = [line for line in lines if line not in best]
    axes.plot(
        [line.communications for line in rest],
        [line.samples for line in rest],
        color=colour,
        marker=marker,
        markersize=4,
        markerfacecolor="none",
        alpha=0.7,
        linestyle="none",
    )
    # Labels where the curves leave room: the paper's methods bend away from the lower left.
    offset, across, up = (
        ((0, 7), "center", "bottom")
        if method.startswith("sync")
        else ((0, -8), "center", "top")
        if method == "sharp"
        else ((-7, -1), "right", "top")
    )
    labelled: list[Line] = []
    for line in best if len(lines) > 1 else []:
        if any(_near(line, other) for other in labelled):
            continue
        labelled.append(line)
        axes.annotate(
            setting_words(line),
            (line.communications, line.samples),
            textcoords="offset points",
            xytext=offset,
            ha=across,
            va=up,
            fontsize=8,
            color="#222222",
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )


def _near(line: Line, other: Line) -> bool:
    """Whether the labels of two settings would fall on each other."""
    across = abs(math.log10(line.communications / other.communications))
    return across < 0.1 and abs(math.log10(line.samples / other.samples)) < 0.15


def front(lines: Sequence[Line]) -> list[Line]:
    """The settings of which no other one has fewer samples and fewer communications, by communications."""
    kept: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.communications, line.samples)):
        if not kept or line.samples < kept[-1].samples:
            kept.append(line)
    return kept


def setting_words(line: Line) -> str:
    """What is special about a variant, as short as a label in a figure must be."""
    words = dict(word.split("=") for word in line.variant.split()[1:])
    if line.method == "sharp":
        return words.get("thrift", "balanced")
    if line.method.startswith("sync"):
        period = words.get("period", "100")
        return f"{int(period) // line.agents if 'period_counts' in words else period} each"
    if line.method == "famabpe":
        return (
            f"γ={words['gamma']}"
            if "gamma" in words
            else f"γ={1 / (2 * line.agents * line.arms):.4g} (theorem)"
        )
    if "gamma1" not in words:
        return "theorem" + (", greedy" if words.get("selection") == "greedy" else "")
    return f"γ₁={words['gamma1']}\nγ₂={words['gamma2']}"


def _title(line: Line) -> str:
    features = f", d={line.dimension}" if line.dimension else ""
    return (
        f"{TITLES[line.experiment]}: K={line.arms}{features}, M={line.agents}, σ={line.sigma:g}, "
        f"δ={line.delta:g}, ε={line.epsilon:g}; mean of {line.runs:,} runs"
    )
