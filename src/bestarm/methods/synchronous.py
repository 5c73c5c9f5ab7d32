"""The synchronous baselines: all agents work for a while, then all exchange what they saw."""

from __future__ import annotations

from bestarm.methods import lingape, ugapec
from bestarm.methods.method import Kind, Parameter
from bestarm.problem import Problem

KIND = Kind.SYNCHRONOUS

PERIOD: dict[str, Parameter] = {"period": 100, "period_counts": "agent"}


def ugapec_defaults(problem: Problem, agents: int) -> dict[str, Parameter]:
    """Synchronous UGapEc: in an episode each agent follows UGapEc on what it downloaded and its own pulls.

    - `period`: pulls in an episode; `period_counts` says whether of each `agent` or of `all` together.
    """
    return ugapec.defaults(problem, agents) | PERIOD


def lingape_defaults(problem: Problem, agents: int) -> dict[str, Parameter]:
    """Synchronous LinGapE: as synchronous UGapEc, with LinGapE's rules."""
    return lingape.defaults(problem, agents) | PERIOD
