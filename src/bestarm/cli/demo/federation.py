"""A small federation in this process: real agents and a real server, fed with simulated rewards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bestarm.cli.demo.view import AgentState, ArmState, Snapshot
from bestarm.intervals import intervals
from bestarm.methods import Method
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Stop
from bestarm.protocol.server import Server
from bestarm.simulation.environment import Environment, draw_sum
from bestarm.simulation.rounds import first_pulls
from bestarm.simulation.schedule import Schedule


class Federation:
    """Agents at their own pace around one server. The same seed gives the same course of events."""

    def __init__(
        self, method: Method, environment: Environment, schedule: Schedule, names: list[str], seed: int
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.method, self.environment, self.schedule = method, environment, schedule
        self.server = Server(method, first_pulls(environment, self.random))
        self.agents = [Agent(method, name) for name in names]
        for agent in self.agents:
            agent.receive(self.server.download())
        self.samples = self.server.total.samples
        self.samples_of = [0] * len(names)
        self.news = "Every arm was tried once; now each lab works at its own pace."

    def steps(self) -> Iterator[int]:
        """One pull after the other, until the server stops; the number of pulls so far."""
        places = {name: k for k, name in enumerate(self.method.problem.arms)}
        for active in self.schedule.rounds(self.random):
            agent = self.agents[active]
            (trial,) = agent.ask()
            self.samples += 1
            self.samples_of[active] += 1
            upload = agent.tell(trial, draw_sum(self.environment, places[trial.arm], 1, self.random))
            if upload is not None:
                reply = self.server.receive(upload)
                size = upload.tally.samples
                self.news = f"{agent.name} sent one message about {size} experiment{'' if size == 1 else 's'}."
                if isinstance(reply, Stop):
                    self.news += " That was enough."
                    yield self.samples
                    return
                agent.receive(reply)
            yield self.samples

    @property
    def communications(self) -> int:
        """One upload or one download; the last upload has no download."""
        return max(2 * len(self.server.log) - self.server.stopped, 0)

    def snapshot(self, title: str) -> Snapshot:
        """How it stands now."""
        problem, verdict, total = self.method.problem, self.server.verdict, self.server.total
        columns = zip(*intervals(problem, total), strict=True)
        arms = [
            ArmState(name, int(pulls), float(low), float(estimate), float(high))
            for name, pulls, (low, estimate, high) in zip(problem.arms, total.pulls, columns, strict=True)
        ]
        agents = [
            AgentState(
                name=agent.name,
                speed=self.schedule.rates[m],
                done=agent.local.samples,
                planned=agent.plan.size,
                samples=self.samples_of[m],
                uploads=agent.sequence,
            )
            for m, agent in enumerate(self.agents)
        ]
        return Snapshot(
            title=title,
            arms=arms,
            agents=agents,
            leader=verdict.leader,
            challenger=verdict.challenger,
            evidence=verdict.evidence,
            samples=self.samples,
            communications=self.communications,
            stopped=self.server.stopped,
            news=self.news,
        )
