"""Where a whole study stands, as the server told it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from bestarm import notebook
from bestarm.protocol.messages import verdict_from_json
from bestarm.tables import to_pandas

STANDING_COLUMNS = ["arm", "pulls", "estimate", "odds", "ruled_out", "words"]
ARM_COLUMNS = [
    *("arm", "pulls", "mean", "low", "high", "odds", "ruled_out"),
    *("difference", "difference_low", "difference_high", "difference_percent"),
]
MOST = 40  # arms in a picture


class Overview(dict[str, Any]):
    """What the server answers about a study, in plain values; a notebook shows it as a table with a picture."""

    def to_pandas(self) -> Any:
        """The arms as a pandas data frame: pulls, estimate, interval, odds, and the difference to the control.

        Without a control the difference is that to the leader.
        """
        apart = self["differences"][0]["arms"] if self["differences"] else [{}] * len(self["arms"])
        rows = zip(self["arms"], self["standing"]["arms"], apart, strict=True)
        return to_pandas((_arm_row(*row) for row in rows), ARM_COLUMNS)

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


class Standing(dict[str, Any]):
    """What can be said now, in plain values."""

    def to_pandas(self) -> Any:
        """The arms as a pandas data frame: pulls, estimate, and what speaks against each."""
        return to_pandas(self["arms"], STANDING_COLUMNS)


def _arm_row(arm: Mapping[str, Any], stands: Mapping[str, Any], apart: Mapping[str, Any]) -> dict[str, Any]:
    known = {"difference": apart.get("difference"), "difference_percent": apart.get("percent")}
    known |= {f"difference_{end}": apart.get(end) for end in ("low", "high")}
    return {**arm, "odds": stands["odds"], "ruled_out": stands["ruled_out"], **known}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
