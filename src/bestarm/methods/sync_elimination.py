"""Synchronous phased elimination (in the manner of Hillel et al., NeurIPS 2013)."""

from __future__ import annotations

from bestarm.core.rules import Value
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """All agents pull all arms that are left equally often, then all exchange what they saw, and arms drop out.

    Followed: phases in which the pulls grow by a factor, all agents in lockstep, and successive elimination's
    intervals. Departure: Hillel et al. fix the number of phases beforehand and set the accuracy of each.

    - `factor`: by how much the pulls of an arm grow in a phase.
    - `stopping`: any other test, for instance `pairs`, that of `sharp`.
    """
    return {"stopping": "elimination", "selection": "phases", "trigger": "every-pull", "factor": 2.0}


SYNC_ELIMINATION = Recipe(
    "sync-elimination",
    Kind.SYNCHRONOUS,
    defaults,
    "Hillel, Karnin, Koren, Lempel and Somekh, NeurIPS 2013",
    when="sites that are alike and can wait for each other, where a message is dear",
    field=True,
)
