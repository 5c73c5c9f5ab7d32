"""The record of a method: who takes part, which rules it is made of, and what others need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from inspect import getdoc

from bestarm.core.rules import Parameter, Test, Value
from bestarm.problem import Problem


class Kind(Enum):
    """Who takes part: agents at their own pace, a single agent, or agents in lockstep."""

    FEDERATED = "federated"
    ALONE = "alone"
    SYNCHRONOUS = "synchronous"


Defaults = Callable[[Problem, int], dict[str, Value]]
Suited = Callable[[Test, Problem], dict[str, Value]]

MIN_BATCH = Parameter("min_batch", "an agent never uploads fewer pulls of an arm than this", "whole", 1)
PERIOD = Parameter("period", "pulls in an episode", "whole", 100)
PERIOD_COUNTS = Parameter(
    "period_counts", "whether the period is of each agent or of all together", "word", "agent", ("agent", "all")
)


@dataclass(frozen=True)
class Recipe:
    """A method: `defaults(problem, agents)` names its rules and gives its parameters their values.

    `suited(test, problem)` says what changes where another test than its own is asked for. `sends_total` says
    that an agent downloads everybody's total, as the paper's do; the others get their plan and nothing else.
    `colour` and `mark` are those of its figures; without them it gets the next free ones. `when` says in a
    sentence when to take it. A method of the `field` is there to be compared with: nobody serves or tunes it.
    """

    name: str
    kind: Kind
    defaults: Defaults
    reference: str
    suited: Suited | None = None
    sends_total: bool = False
    colour: str = ""
    mark: str = ""
    when: str = ""
    field: bool = False

    @property
    def help(self) -> str:
        """What it does, in its own words."""
        return getdoc(self.defaults) or ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that it has besides the ones of its rules."""
        return (PERIOD, PERIOD_COUNTS) if self.kind is Kind.SYNCHRONOUS else (MIN_BATCH,)
