"""A study's status and standing as pictures: for notebooks, and for the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bestarm import notebook
from bestarm.notebook import Row
from bestarm.shown import arm_columns, best_first, count
from bestarm.verdict import Verdict

MOST = 40  # arms in a picture


def standing_picture(standing: Mapping[str, Any], order: Sequence[int] | None = None) -> str:
    """What speaks against each arm, where the study's test has odds; else nothing.

    The leader comes first, then those with the least against them; of two with nothing against them the first
    in `order`, which are places.
    """
    if standing["error"] is None:
        return ""
    arms = standing["arms"] if order is None else [standing["arms"][place] for place in order]
    rows = [
        (arm["arm"], math.log(max(arm["odds"], 1.0)), arm["words"])
        for arm in sorted(arms, key=lambda arm: (arm["arm"] != standing["leader"], max(arm["odds"], 1.0)))
    ]
    return notebook.bars(rows[:MOST], math.log(standing["needed"]), standing["line"])


def standing_html(standing: Mapping[str, Any], order: Sequence[int] | None = None) -> str:
    """The same, below what can be said now."""
    return f"<p>{escape(standing['sentence'])}</p>" + standing_picture(standing, order)


def means_picture(found: Mapping[str, Any]) -> str:
    """Every arm's estimate with its interval."""
    arms = [found["arms"][place] for place in best_first(found)]
    rows = [Row(arm["arm"], arm["mean"], arm["low"], arm["high"]) for arm in arms]
    return notebook.intervals(rows[:MOST], found["verdict"]["leader"], "estimates and intervals")


def difference_pictures(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """For the control and for the leader: what the differences to it are, and their picture."""
    leader, drawn = found["verdict"]["leader"], []
    for one in found["differences"]:
        arms = [one["arms"][place] for place in best_first(found)]
        rows = [
            Row(arm["arm"], arm["difference"], arm["low"], arm["high"])
            for arm in arms
            if arm["arm"] != one["to"]
        ]
        words = f"differences to {one['to']}"
        drawn.append((one["sentence"], notebook.intervals(rows[:MOST], leader, words, 0.0)))
    return [(sentence, picture) for sentence, picture in drawn if picture]


def evidence_picture(found: Mapping[str, Any]) -> str:
    """How the evidence grew with the samples."""
    points = [(row[1], row[3]) for row in found["history"]]
    return notebook.curve(points, 1.0, "evidence by samples", "samples")


def study_html(found: Mapping[str, Any], verdict: Verdict) -> str:
    """A study as a notebook shows it: the verdict, what speaks against each arm, where they lie."""
    title = f"{found['study']}: {found['method']}, {found['state']}, {count(found['uploads'], 'upload')}"
    apart = [f"<p>{escape(sentence)}</p>{picture}" for sentence, picture in difference_pictures(found)[:1]]
    known = found["standing"]["error"] is not None
    stands = standing_html(found["standing"], best_first(found)) if known else ""
    table = arm_columns(found)
    return (
        verdict._repr_html_()
        + stands
        + ("".join(apart) or means_picture(found))
        + notebook.table(title, table.heads, table.rows)
    )
