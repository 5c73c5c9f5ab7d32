"""How much better the leader is: than the control, or than the next best, with an interval where known."""

from __future__ import annotations

from typing import Any

from bestarm.intervals import intervals
from bestarm.reward import HIGHEST
from bestarm.service.storage.study.overview import Overview
from bestarm.shown import apart, brief


def better(overview: Overview) -> str:
    """In a sentence; nothing while it is not known."""
    return against_control(overview) or _against_next(overview) or _own_intervals(overview)


def against_control(overview: Overview) -> str:
    """The leader and the control, where there is one and the difference is known."""
    leader = overview.verdict.leader
    for found in overview.differences:
        row = next((one for one in _rows(overview, found) if one["arm"] == leader), None)
        if found.role == "control" and row is not None and row["low"] is not None and leader != found.to:
            return f"{leader} is {_by(overview, row, found.to, 'the control', 1.0)}."
    return ""


def _against_next(overview: Overview) -> str:
    """The leader and whoever comes next, from the differences to the leader."""
    leader = overview.verdict.leader
    up = 1.0 if overview.method.problem.goal == HIGHEST else -1.0
    for found in overview.differences:
        rows = [one for one in _rows(overview, found) if one["low"] is not None and one["arm"] != leader]
        if found.to != leader or not rows:
            continue
        row = max(rows, key=lambda one: up * one["difference"])
        return f"{leader} is {_by(overview, row, row['arm'], 'the next best', -1.0)}."
    return ""


def _own_intervals(overview: Overview) -> str:
    """The leader's interval and the challenger's, where sites are alike."""
    names = overview.method.problem.arms
    known = dict(zip(names, intervals(overview.method, overview.known), strict=True))
    said = []
    for name in (overview.verdict.leader, overview.verdict.challenger):
        one = known.get(name)
        if one is None or one.mean is None or one.low is None or one.high is None:
            return ""
        mean, low, high = apart(one.mean, one.low, one.high)
        said.append(f"{name} has {mean} ({low} to {high})")
    return f"{said[0]}, {said[1]}."


def _rows(overview: Overview, found: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.to_json(overview.method.problem.arms)["arms"]
    return rows


def _by(overview: Overview, row: dict[str, Any], other: str, role: str, sign: float) -> str:
    """`above B, the control, by 0.5 (0.4 to 0.6)`, for a difference times a sign; and how sure that is.

    The test has settled who is better before an interval that holds for all arms together says so.
    """
    difference = sign * row["difference"]
    turn = 1.0 if difference >= 0.0 else -1.0
    low, high = sorted((turn * sign * row["low"], turn * sign * row["high"]))
    side = "above" if difference >= 0.0 else "below"
    better = overview.method.problem.goal == HIGHEST
    now = overview.now  # a correction may have unsettled what was settled
    settled = now.stopped and now.arm == overview.verdict.leader
    if low >= 0.0:
        sure = f"({brief(low)} to {brief(high)})"
    elif settled and overview.method.problem.epsilon == 0.0 and (side == "above") == better:
        sure = (
            f"({brief(low)} to {brief(high)}); that it is {side} was settled by the study's test, which makes "
            "more of the same data than this interval"
        )
    elif (side == "above") == better:
        sure = f"so far; by how much is not sure yet, from {brief(low)} to {brief(high)}"
    else:
        sure = (
            "in the batches that had both, though all batches together put it in front; nothing is sure yet, "
            f"from {brief(low)} to {brief(high)}"
        )
    return f"{side} {other}, {role}, by {brief(abs(difference))} {sure}"
