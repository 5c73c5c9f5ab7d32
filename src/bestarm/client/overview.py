"""Where a whole study stands, as the server told it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestarm.pictures import standing_html, study_html
from bestarm.protocol.messages import verdict_from_json
from bestarm.tables import to_pandas

STANDING_COLUMNS = ["arm", "pulls", "estimate", "odds", "ruled_out", "words"]
ARM_COLUMNS = [
    *("arm", "pulls", "mean", "low", "high", "odds", "ruled_out"),
    *("difference", "difference_low", "difference_high", "difference_percent"),
]


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
        return study_html(self, verdict_from_json(self["verdict"]))


class Standing(dict[str, Any]):
    """What can be said now, in plain values; printed it is a sentence."""

    def __str__(self) -> str:
        return str(self["sentence"])

    def to_pandas(self) -> Any:
        """The arms as a pandas data frame: pulls, estimate, and what speaks against each."""
        return to_pandas(self["arms"], STANDING_COLUMNS)

    def _repr_html_(self) -> str:
        return standing_html(self)


def _arm_row(arm: Mapping[str, Any], stands: Mapping[str, Any], apart: Mapping[str, Any]) -> dict[str, Any]:
    known = {"difference": apart.get("difference"), "difference_percent": apart.get("percent")}
    known |= {f"difference_{end}": apart.get(end) for end in ("low", "high")}
    return {**arm, "odds": stands["odds"], "ruled_out": stands["ruled_out"], **known}
