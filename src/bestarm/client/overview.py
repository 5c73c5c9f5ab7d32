"""Where a whole study stands, as the server told it."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from bestarm import notebook
from bestarm.protocol.messages import verdict_from_json

MOST = 40  # arms in a picture


class Overview(dict[str, Any]):
    """What the server answers about a study, in plain values; a notebook shows it as a table with a picture."""

    def _repr_html_(self) -> str:
        arms = [
            (arm["arm"], f"{arm['pulls']:,}", *(_number(arm[field]) for field in ("mean", "low", "high")))
            for arm in self["arms"]
        ]
        title = f"{self['study']}: {self['method']}, {self['state']}, {self['uploads']:,} uploads"
        verdict = verdict_from_json(self["verdict"])
        return (
            verdict._repr_html_()
            + self._standing()
            + notebook.intervals(self["arms"], verdict.leader)
            + notebook.table(title, ["", "pulls", "mean", "from", "to"], arms)
        )

    def _standing(self) -> str:
        """What can be said now, and what speaks against each arm, where the study's test has odds."""
        standing = self["standing"]
        if standing["error"] is None:
            return ""
        rows = [
            (arm["arm"], math.log(max(arm["odds"], 1.0)), arm["words"])
            for arm in sorted(standing["arms"], key=lambda arm: (arm["arm"] != standing["leader"], arm["odds"]))
        ]
        said = f"<p>{escape(standing['sentence'])}</p>"
        return said + notebook.bars(rows[:MOST], math.log(standing["needed"]), standing["line"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
