"""The synchronous baselines: all agents work for a while, then all exchange what they saw."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods import lingape, ugapec
from bestarm.methods.recipe import PERIOD, PERIOD_COUNTS, Kind, Recipe
from bestarm.problem import Problem

EPISODE: dict[str, Value] = {
    parameter.name: parameter.default for parameter in (PERIOD, PERIOD_COUNTS) if parameter.default is not None
}


def ugapec_defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Synchronous UGapEc: in an episode each agent follows UGapEc on what it downloaded and its own pulls.

    - `period`: pulls in an episode; `period_counts` says whether of each `agent` or of `all` together.
    """
    return ugapec.defaults(problem, agents) | EPISODE


def lingape_defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """Synchronous LinGapE: as synchronous UGapEc, with LinGapE's rules."""
    return lingape.defaults(problem, agents) | EPISODE


SYNC_UGAPEC = Recipe(
    "sync-ugapec",
    Kind.SYNCHRONOUS,
    ugapec_defaults,
    "Gabillon et al. 2012, in episodes as in Wang et al. 2024",
    colour="#CC79A7",
    mark="P",
    when="to reproduce the paper, or to compare with it",
)
SYNC_LINGAPE = Recipe(
    "sync-lingape",
    Kind.SYNCHRONOUS,
    lingape_defaults,
    "Xu et al. 2018, in episodes as in Wang et al. 2024",
    colour="#7F7F7F",
    mark="X",
    when="to reproduce the paper, or to compare with it",
)
