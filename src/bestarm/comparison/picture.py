"""One picture of a comparison: who is fast where the promise holds, and who breaks it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bestarm.plot import new_figure, style

if TYPE_CHECKING:
    from bestarm.comparison.api import Comparison, Entry

BROKEN, UNPROMISED, SHADES = "#D55E00", "#9A9A9A", 3.0  # samples that many times the fewest are the palest


def draw(comparison: Comparison) -> Any:
    """A table of tiles, a row a method and a column a world, with the samples of each.

    Blue tiles keep a promise: the darker, the fewer samples compared with the best of them. Grey ones promise
    nothing there and were not caught, orange ones are wrong more often than delta.
    """
    worlds = list(dict.fromkeys(entry.world for entry in comparison.entries))
    labels = list(dict.fromkeys(entry.label for entry in comparison.entries))
    fewest = {world: fewest_kept(comparison, world) for world in worlds}
    with style():
        size = max(2.2 + 0.95 * len(worlds), 8.0), max(1.8 + 0.42 * len(labels), 3.5)
        figure, axes = new_figure(1, width=size[0], height=size[1])
        for entry in comparison.entries:
            place = worlds.index(entry.world), labels.index(entry.label)
            tile(axes, entry, place, fewest[entry.world])
        axes.set_xlim(-0.5, len(worlds) - 0.5)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xticks(range(len(worlds)), worlds, rotation=40, ha="right")
        axes.set_yticks(range(len(labels)), labels)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.set_title(
            "Samples: blue keeps its promise (darker: fewer), grey has none there, orange breaks delta"
        )
    return figure


def fewest_kept(comparison: Comparison, world: str) -> float:
    """The fewest samples of those that keep a promise in a world."""
    kept = [
        entry.result.summary().mean
        for entry in comparison.entries
        if entry.world == world and entry.promised and not entry.broken
    ]
    return min(kept, default=math.nan)


def tile(axes: Any, entry: Entry, place: tuple[int, int], fewest: float) -> None:
    """One method in one world."""
    mean = entry.result.summary().mean
    if entry.broken:
        colour, strength = BROKEN, 0.85
    elif not entry.promised:
        colour, strength = UNPROMISED, 0.35
    else:
        behind = math.log(max(mean / fewest, 1.0)) / math.log(SHADES)
        colour, strength = "#0072B2", 1.0 - 0.87 * min(behind, 1.0)
    x, y = place
    axes.fill_between([x - 0.48, x + 0.48], y - 0.46, y + 0.46, color=colour, alpha=strength, linewidth=0)
    wrong = entry.result.wrong / entry.result.runs
    words = f"{'≥ ' * (entry.result.unfinished > 0)}{mean:,.0f}"
    words += f"\n{100 * wrong:.0f} % wrong" * entry.broken
    axes.text(x, y, words, ha="center", va="center", fontsize=10, color="white" if strength > 0.9 else "black")
