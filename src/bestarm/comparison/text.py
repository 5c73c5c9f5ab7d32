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


def across(comparison: Comparison, runs: int) -> str:
    """A table for a page: a row a method, a column a world, with the samples of each.

    In parentheses the share of wrong answers, where there were any. *Italics* promise nothing there, **!** is
    wrong more often than delta; `runs` is said where it is another number.
    """
    worlds = list(dict.fromkeys(entry.world for entry in comparison.entries))
    places = {(entry.label, entry.world): entry for entry in comparison.entries}
    lines = [f"| method | {' | '.join(worlds)} |", "|---|" + "---|" * len(worlds)]
    for label in dict.fromkeys(entry.label for entry in comparison.entries):
        found = [places.get((label, world)) for world in worlds]
        cells = ["–" if entry is None else in_short(entry, runs) for entry in found]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def in_short(entry: Entry, runs: int) -> str:
    """One method in one world, in a few words."""
    result = entry.result
    notes = [f"{100 * result.wrong / result.runs:.1f} %"] * (result.wrong > 0)
    notes += [f"{result.unfinished} undecided"] * (result.unfinished > 0)
    notes += [f"{result.runs} runs"] * (result.runs != runs)
    text = f"{'≥ ' * (result.unfinished > 0)}{result.summary().mean:,.0f}"
    text += f" ({', '.join(notes)})" * bool(notes) + " **!**" * entry.broken
    return text if entry.promised else f"*{text}*"


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
