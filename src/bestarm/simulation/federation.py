"""Agents at their own pace around one server: the one loop in which the real ones meet simulated rewards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.methods.method import Method
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.messages import Stop
from bestarm.protocol.server import Server
from bestarm.simulation.environment import Environment, draw_sum, drift_at, first_pulls, row_of
from bestarm.simulation.schedule import Schedule


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
        self.environment, self.schedule, self.random = environment, schedule, random
        start = first_pulls(environment, method.setting.arms, method.test.squares, random)
        squares = start.squares.tolist() if method.test.squares else None
        self.server = Server(method, Tally.of(start.pulls.tolist(), start.sums.tolist(), squares))
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

    def pulls(self) -> Iterator[tuple[int, Upload | None]]:
        """One pull after the other until the server stops: who made it, and the upload that it filled, if any.

        Whoever iterates sees the server as it is after the upload, before the agent has its answer.
        """
        places = {name: k for k, name in enumerate(self.server.arms)}
        for active in self.schedule.rounds(self.random):
            agent = self.agents[active]
            (trial,) = agent.ask()
            arm = places[trial.arm]
            self.samples += 1
            self.samples_of[active] += 1
            self.switches += self._last[active] not in (-1, arm)
            self._last[active] = arm
            upload = agent.tell(trial, self._reward(active, arm))
            reply = None if upload is None else self.server.receive(upload)
            yield active, upload
            if isinstance(reply, Stop):
                return
            if reply is not None:
                agent.receive(reply)
                self._known[active] = self.server.samples

    def _reward(self, active: int, arm: int) -> float:
        """What an agent's pull of an arm gives."""
        world = self.environment
        added = drift_at(world.drift, world.pace, self._known[active])
        return draw_sum(world, arm, 1, self.random, row_of(world.levels.shape[0], active), added)

    @property
    def communications(self) -> int:
        """So far; the upload that settles it has no download."""
        return messages(len(self.server.log), self.server.stopped_at or 0)
