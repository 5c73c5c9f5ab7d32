"""A comparison as a table of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bestarm.comparison.api import Comparison, Entry


def promise_word(entry: Entry) -> str:
    """What became of the promise: kept, broken, or none was made here."""
    if entry.broken:
        return "broken" if entry.promised else "none here, and wrong too often"
    return "kept" if entry.promised else "none here"


def markdown(comparison: Comparison) -> str:
    """A table for a page, world after world, each with the fewest samples first."""
    heads, *rows = table_rows(comparison)
    first, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return "\n".join([first, "|" + "---|" * len(heads), *lines])


def table_rows(comparison: Comparison) -> list[list[str]]:
    """The heads, and a row for each method in each world."""
    rows = [["world", "method", "samples", "messages", "wrong", "promise"]]
    worlds = dict.fromkeys(entry.world for entry in comparison.entries)
    for world in worlds:
        there = [entry for entry in comparison.entries if entry.world == world]
        for entry in sorted(there, key=lambda entry: entry.result.summary().mean):
            samples, sent = entry.result.summary(), entry.result.summary("communications")
            undecided = f", {entry.result.unfinished} undecided" if entry.result.unfinished else ""
            wrong = f"{100 * entry.result.wrong / entry.result.runs:.1f} %{undecided}"
            cost = f"{samples.mean:,.0f} ± {samples.stderr:,.0f}", f"{sent.mean:,.0f}"
            rows.append([world, entry.label, *cost, wrong, promise_word(entry)])
    return rows
