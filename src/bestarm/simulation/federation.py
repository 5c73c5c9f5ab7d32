"""Agents at their own pace around one server: the one loop in which the real ones meet simulated rewards."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning
from bestarm.methods.composed import Method
from bestarm.problem import Problem
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.messages import Stop, Trial
from bestarm.protocol.server import Server
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.environment import (
    GAUSSIAN,
    HEAVY,
    Environment,
    draw_on,
    draw_sum,
    drift_at,
    first_pulls,
    item_of,
    row_of,
)
from bestarm.simulation.worlds.mirror import mirrored


class Federation:
    """A server that knows one pull of each arm, and agents that have downloaded it."""

    def __init__(
        self,
        method: Method,
        environment: Environment,
        schedule: Schedule,
        random: np.random.Generator,
        names: Sequence[str] = (),
    ) -> None:
        method = _unlimited(method, environment.kind in (GAUSSIAN, HEAVY))
        self.method, self.schedule, self.random = method, schedule, random
        self.world = mirrored(environment, method)
        start = first_pulls(self.world, method.setting.arms, method.squares, random)
        sums = method.reflect(start.sums, start.pulls).tolist()
        squares = start.squares.tolist() if method.squares else None
        self.server = Server(method, Tally.of(start.pulls.tolist(), sums, squares))
        names = names or [f"agent-{m}" for m in range(schedule.agents)]
        self.agents = [Agent(method, name) for name in names]
        for agent in self.agents:
            joined = Join(agent.name, plate=schedule.plate)
            agent.receive(self.server.download() if schedule.plate == 1 else self.server.receive(joined))
        self.samples = self.server.samples  # of all agents, sent or not
        self.samples_of = [0] * len(names)
        self.switches = 0
        self._last = [-1] * len(names)
        self._known = [self.samples] * len(names)  # the server's samples when the agent's plan was made
        self._waiting: list[list[Trial]] = [[] for _ in names]  # trials of an item, handed out together
        self._items: dict[int, tuple[int | str | None, int, float]] = {}  # of each agent, the last one

    def pulls(self) -> Iterator[tuple[int, Upload | None]]:
        """One pull after the other until the server stops: who made it, and the upload that it filled, if any.

        Whoever iterates sees the server as it is after the upload, before the agent has its answer.
        """
        places = {name: k for k, name in enumerate(self.server.arms)}
        for active in self.schedule.rounds(self.random):
            agent = self.agents[active]
            waiting = self._waiting[active]
            if not waiting:
                waiting += agent.ask()
            trial = waiting.pop(0)
            arm = places[trial.arm]
            self.samples += 1
            self.samples_of[active] += 1
            self.switches += self._last[active] not in (-1, arm)
            self._last[active] = arm
            upload = agent.tell(trial, self._reward(active, arm, trial.item))
            reply = None if upload is None else self.server.receive(upload)
            yield active, upload
            if isinstance(reply, Stop):
                return
            if reply is not None:
                agent.receive(reply)
                self._known[active] = self.server.samples

    def _reward(self, active: int, arm: int, item: int | str | None) -> float:
        """One reward, as a site sees it; reflected there and back, it may be past its range by a rounding."""
        world = self.world
        row = row_of(world.levels.shape[0], active)
        added = drift_at(world.drift, world.pace, self._known[active])
        if item is None:
            drawn = draw_sum(world, arm, 1, self.random, row, added)
        else:
            drawn = draw_on(world, arm, self.random, row, added, *self._item(active, item))
        reward = float(self.method.reflect(drawn))
        low, high = self.method.problem.reward_range or (reward, reward)
        return min(max(reward, low), high)

    def _item(self, active: int, item: int | str) -> tuple[int, float]:
        """What an item is like: drawn when its first trial comes."""
        known = self._items.get(active)
        if known is None or known[0] != item:
            lines = int(self.world.starts[-1]) // self.method.setting.arms
            known = self._items[active] = item, *item_of(self.world, lines, self.random)
        return known[1:]

    @property
    def communications(self) -> int:
        """So far; the upload that settles it has no download."""
        return messages(self.server.uploads, self.server.stopped_at or 0)


def _unlimited(method: Method, any_reward: bool) -> Method:
    """The same method without a budget, which is the business of whoever pulls, and without a deadline.

    With `any_reward` also without the check of what is typed: Gaussian and heavy-tailed rewards know no range.
    """
    problem = method.problem
    gone = {"budget", "deadline"} | ({"rewards", "reward_range"} if any_reward else set())
    if not gone & problem.to_dict().keys():
        return method
    table = {key: value for key, value in problem.to_dict().items() if key not in gone}
    told: dict[str, float] = {}
    if any_reward and problem.reward_range is not None:
        told = {"centre": problem.centre} | ({} if problem.sigma is None else {"sigma": problem.sigma})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # said when the problem was made
        return replace(method, problem=Problem.from_dict(table | told))
