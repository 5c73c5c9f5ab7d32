"""A method as agents, servers and simulators use it: two pure functions of a tally, and their parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from html import escape

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.estimate import View
from bestarm.core.plan import Plan, Rules, spread
from bestarm.core.sampling import UNSOLVED, ratio
from bestarm.core.setting import Setting
from bestarm.core.tally import Tally
from bestarm.methods.design import minimal_weights
from bestarm.notebook import meter
from bestarm.problem import Problem

Parameter = int | float | str


class Kind(Enum):
    """Who takes part: agents at their own pace, a single agent, or agents in lockstep."""

    FEDERATED = "federated"
    ALONE = "alone"
    SYNCHRONOUS = "synchronous"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tally says: who leads, who could still be better, and whether that is settled.

    `arm` is the answer, and None until the method stops.
    """

    stopped: bool
    leader: str
    challenger: str
    breaking_index: float
    evidence: float
    samples: int

    @property
    def arm(self) -> str | None:
        """The arm that is the answer, once there is one."""
        return self.leader if self.stopped else None

    def __str__(self) -> str:
        """What it says, in a sentence.

        >>> print(Verdict(True, "A", "B", -0.1, 1.2, 1234))
        A is the answer, after 1,234 samples.
        """
        if self.samples == 0:
            return "Nothing was measured yet."
        known = f"after {self.samples:,} sample" + "s" * (self.samples != 1)
        if self.stopped:
            return f"{self.leader} is the answer, {known}."
        rival = f"{self.challenger} could still be better"
        if math.isfinite(self.breaking_index):
            rival += f" by up to {self.breaking_index:.3g}"
        return f"{self.leader} leads {known}, with {self.progress}; {rival}."

    @property
    def progress(self) -> str:
        """How much there is of the evidence that is needed; 100 % only when there is all of it."""
        return f"{int(100 * min(self.evidence, 1.0))} % of the evidence"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>" + meter(self.evidence, self.progress)


@dataclass(frozen=True, slots=True)
class Method:
    """`plan(tally)` says what an agent does next, `verdict(tally)` whether the server is done.

    >>> import bestarm
    >>> method = bestarm.method("famabpe", bestarm.Problem(["A", "B"], sigma=0.3), agents=2)
    >>> tally = Tally.of([50, 40], [45.0, 20.0])
    >>> method.plan(tally).size, method.verdict(tally).leader
    (12, 'A')
    """

    name: str
    problem: Problem
    agents: int
    parameters: Mapping[str, Parameter]
    kind: Kind
    rules: Rules
    setting: Setting
    period: int
    period_of_all: bool

    def read(self, tally: Tally) -> tuple[View, Reading]:
        """Estimates and breaking index of a tally in which every arm was pulled."""
        view = self.rules.estimate(tally.pulls, tally.reward_sums, self.setting)
        return view, self.rules.confidence(tally.pulls, view, self.setting)

    def verdict(self, tally: Tally) -> Verdict:
        """Leader, challenger, breaking index, and whether to stop; never before every arm was pulled."""
        names = self.problem.arms
        if not tally.pulls.all():
            means = np.where(tally.pulls > 0, tally.reward_sums / np.maximum(tally.pulls, 1), -np.inf)
            leader = int(np.argmax(means))
            challenger = int(np.flatnonzero(np.arange(len(names)) != leader)[0])
            return Verdict(False, names[leader], names[challenger], float("inf"), 0.0, tally.samples)
        _, reading = self.read(tally)
        return Verdict(
            bool(reading.breaking_index <= self.setting.epsilon),
            names[reading.leader],
            names[reading.challenger],
            float(reading.breaking_index),
            float(reading.evidence),
            tally.samples,
        )

    def plan(self, tally: Tally) -> Plan:
        """The pulls until the next upload. Arms that were never pulled come first, `min_batch` times each."""
        missing = np.flatnonzero(tally.pulls == 0)
        if missing.size:
            return Plan(tuple(missing.tolist()), (self.setting.min_batch,) * missing.size)
        view, reading = self.read(tally)
        rules = self.rules
        if rules.choose is ratio:
            self.solve_design(reading.leader, reading.challenger)
        arms, counts = np.empty((2, self.plan_width), np.int64)
        distinct = rules.make(
            tally.pulls, view, reading, self.setting, rules.foresee, rules.choose, rules.trigger, arms, counts
        )
        return Plan(tuple(arms[:distinct].tolist()), tuple(counts[:distinct].tolist()))

    def solve_design(self, leader: int, challenger: int) -> None:
        """Solve the linear programme of a pair once and keep it; p*(i,j) = p*(j,i)."""
        if self.setting.design_arms[leader, challenger, 0] != UNSOLVED:
            return
        features = self.problem.features
        assert features is not None
        weights = np.abs(minimal_weights(features, features[leader] - features[challenger]))
        if not weights.any():  # two arms with the same features: nothing tells them apart
            weights[[leader, challenger]] = 1.0
        arms = np.flatnonzero(weights)
        for i, j in ((leader, challenger), (challenger, leader)):
            self.setting.design_weights[i, j, : arms.size] = weights[arms] / weights.sum()
            self.setting.design_arms[i, j, : arms.size] = arms
            self.setting.design_arms[i, j, arms.size :] = -1

    @property
    def plan_width(self) -> int:
        """The largest number of different arms in one plan after the start."""
        return self.setting.arms if self.rules.make is spread else 1
