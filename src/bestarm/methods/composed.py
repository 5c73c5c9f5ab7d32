"""A method as agents, servers and simulators use it: pure functions of a state, and their parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.bets import PAIR, WIDTH
from bestarm.core.breaking import Reading, settled
from bestarm.core.plan import Plan
from bestarm.core.race import name_rivals
from bestarm.core.rules import Rules, Test, Value, nothing_sent
from bestarm.core.selection.ratio import UNSOLVED
from bestarm.core.setting import Setting
from bestarm.core.tally import Tally
from bestarm.methods.design import minimal_weights
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem
from bestarm.reward import reflected
from bestarm.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Method:
    """`begin`, `fold` and `read` lead from batches to a verdict; `plan` says what a site does next.

    A state belongs to whoever folds it: folding changes its arrays. `verdict(tally)` and `plan(tally)` are the
    same for a total that came in one piece.

    >>> import bestarm
    >>> method = bestarm.method("famabpe", bestarm.Problem(["A", "B"], sigma=0.3), agents=2)
    >>> tally = Tally.of([50, 40], [45.0, 20.0])
    >>> method.plan(tally).size, method.verdict(tally).leader
    (12, 'A')
    """

    name: str
    problem: Problem
    agents: int
    parameters: Mapping[str, Value]
    recipe: Recipe
    test: Test
    several: bool  # whether a plan may have several arms
    rules: Rules
    setting: Setting
    period: int
    period_of_all: bool
    mirror: float | None = None  # where the lowest is wanted: around it rewards are reflected

    @property
    def kind(self) -> Kind:
        """Who takes part."""
        return self.recipe.kind

    @property
    def squares(self) -> bool:
        """Whether a tally must have sums of squares."""
        return self.test.squares or (self.test.noise == "either" and self.problem.sigma is None)

    @property
    def bets(self) -> float:
        """What brings a difference of rewards to [−1, 1], better above 0; 0 if nobody asks for bets."""
        width = self.setting.high - self.setting.low
        return (1.0 if self.mirror is None else -1.0) / width if self.test.bets else 0.0

    @property
    def pairs(self) -> float:
        """What makes a difference of rewards on an item better above 0: ±1; 0 if nobody asks for pairs."""
        return (1.0 if self.mirror is None else -1.0) if self.test.pairs else 0.0

    @property
    def against(self) -> int:
        """How many sums of each arm against its rival a tally must have."""
        return PAIR if self.test.pairs else WIDTH if self.test.bets else 0

    @property
    def proven(self) -> bool:
        """Whether its answers are wrong with probability at most δ; else nothing is promised."""
        chosen = {p.name: self.parameters.get(p.name, p.default) for p in self.test.parameters}
        return self.test.proven and not any(chosen[p.name] in p.unproven for p in self.test.parameters)

    @property
    def by_turns(self) -> bool:
        """Whether a single agent, or agents in lockstep, make all pulls of a turn before they look again."""
        return self.rules.turn is not None

    @property
    def owned(self) -> bool:
        """Whether each arm belongs to one site, which alone can try it."""
        return self.rules.uploads is not nothing_sent

    def begin(self, start: Tally | None = None) -> Any:
        """The state of a study in which nothing was measured, or in which everybody knows a tally."""
        state = self.rules.begin(self.setting)
        return state if start is None or not start.arms else self.fold(state, start, NOBODY)

    def fold(self, state: Any, tally: Tally, site: int) -> Any:
        """The state after one more batch. The given one is used up."""
        batch = batch_of(tally, site)
        turned = batch._replace(sums=self.reflect(batch.sums, batch.pulls))  # squares around the centre stay
        return self.rules.fold(state, turned, self.setting)

    def reflect(self, rewards: Any, pulls: Any = 1) -> Any:
        """Rewards, or sums of so many, as the rules see them, for whom the highest is best; and back again."""
        return rewards if self.mirror is None else reflected(rewards, self.mirror, pulls)

    def read(self, state: Any) -> Reading:
        """Leader, challenger and evidence; nothing is settled before every arm was pulled."""
        if self.test.every_arm and not state.pulls.all():
            leader = int(np.argmax(state.estimate.values))
            return Reading(leader, 0 if leader else 1, np.inf, 0.0)
        return self.rules.read(state, self.setting)

    def judge(self, state: Any, reading: Reading | None = None) -> Verdict:
        """What a state says, in names; `reading` is the state's, if it is known already.

        A test that compares inside batches knows nothing before two batches had the same arms: the first one
        names the rivals of the next. What steers is a guess until then, and no evidence.
        """
        names, reading = self.problem.arms, reading or self.read(state)
        accounts = getattr(state, "accounts", np.zeros(0))
        compared = settled(reading) or not accounts.size or np.ptp(accounts[0], axis=1).any()
        return Verdict(
            bool(settled(reading)),
            names[reading.leader],
            names[reading.challenger],
            float(reading.breaking_index),
            float(reading.evidence) if compared else 0.0,
            int(state.pulls.sum()),
        )

    def make(
        self,
        state: Any,
        plate: int | None = None,
        cannot: Collection[int] = (),
        reading: Reading | None = None,
        room: int = 1,
        most: int | None = None,
    ) -> Plan:
        """The pulls until a site's next upload. Arms that were never pulled come first, `min_batch` times each,
        beside the best of the others where a batch of theirs alone would be compared with nothing.

        `plate` is how many trials fit on a site's plate, `cannot` are the arms that it can't do, and `room` is
        how many trials it has under way at once; `reading` is the state's, if it is known already; `most` is
        how many pulls there may be.
        """
        plan = self._plan(state, cannot, reading, self.setting._replace(plate=plate or 0))
        if plate is not None or cannot or room > 1:
            plan = plan.fitted(plate, cannot, state.pulls.tolist(), self.problem.items, room)
        if most is not None:
            plan = plan.limited(most, self.problem.items)
        return self.with_rivals(state, plan) if self.against else plan

    def with_rivals(self, state: Any, plan: Plan) -> Plan:
        arms, named = np.array(plan.arms, np.int64), np.empty(len(plan.arms), np.int64)
        if arms.size:
            name_rivals(state.pulls, state.estimate.values, arms, named)
        return replace(plan, rivals=tuple(named.tolist()))

    def _plan(self, state: Any, cannot: Collection[int], reading: Reading | None, setting: Setting) -> Plan:
        missing = np.flatnonzero(state.pulls == 0).tolist()
        if not missing:
            return self._ahead(state, reading or self.read(state), setting)
        first = [arm for arm in missing if arm not in cannot]
        known = [arm for arm in np.flatnonzero(state.pulls).tolist() if arm not in cannot]
        if not first:
            first = known
        elif known and self.test.inside_batches:
            first = sorted([*first, max(known, key=lambda arm: float(state.estimate.values[arm]))])
        return Plan(tuple(first), (self.setting.min_batch,) * len(first))

    def _ahead(self, state: Any, reading: Reading, setting: Setting) -> Plan:
        rules = self.rules
        if self.setting.design_arms.size:
            self.solve_design(reading.leader, reading.challenger)
        arms, counts = np.empty((2, self.plan_width), np.int64)
        if rules.turn is not None:  # a plan is a function of the state: so are the numbers drawn for it
            random = np.random.default_rng(int(state.pulls.sum()))
            made = rules.turn(state, reading, setting, random, arms, counts)
            return Plan(tuple(arms[:made].tolist()), tuple(counts[:made].tolist()))
        made = rules.make(state, reading, setting, rules.foresee, rules.choose, rules.trigger, arms, counts)
        return Plan(tuple(arms[:made].tolist()), tuple(counts[:made].tolist()))

    def verdict(self, tally: Tally) -> Verdict:
        """What a total says that came in one piece."""
        return self.judge(self.begin(tally))

    def plan(self, tally: Tally) -> Plan:
        """What an agent does that knows this total."""
        return self.make(self.begin(tally))

    def radii(self, state: Any) -> Floats | None:
        """The half width of every arm's own interval; None if its test has no intervals."""
        return None if self.test.radii is None else self.test.radii(state, self.setting)

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
        return self.setting.arms if self.several else 1


def batch_of(tally: Tally, site: int) -> Batch:
    """A tally in the form that tests fold."""
    return Batch(
        site,
        np.array(tally.arms, dtype=np.int64),
        np.array(tally.counts, dtype=np.int64),
        np.array(tally.sums, dtype=np.float64),
        np.array(tally.squares, dtype=np.float64),
        np.array(tally.against, dtype=np.float64),
        np.array(tally.rivals, dtype=np.int64),
    )
