"""The demo's federation in this process: the simulator's own, with news of the labs for the picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bestarm.cli.demo.view import AgentState, ArmState, Snapshot
from bestarm.cli.output import count
from bestarm.intervals import intervals
from bestarm.methods import Method
from bestarm.simulation import federation
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.environment import Environment
from bestarm.standing import standing


class Federation(federation.Federation):
    """Agents at their own pace around one server. The same seed gives the same course of events."""

    def __init__(
        self, method: Method, environment: Environment, schedule: Schedule, names: list[str], seed: int
    ) -> None:
        super().__init__(method, environment, schedule, np.random.default_rng(seed), names)
        self.news = "Every arm was tried once; now each lab works at its own pace."

    def steps(self) -> Iterator[int]:
        """One pull after the other, until the server stops; the number of pulls so far."""
        for active, upload in self.pulls():
            if upload is not None:
                size = count(upload.tally.samples, "experiment")
                self.news = f"{self.agents[active].name} sent one message about {size}."
                if self.server.stopped:
                    self.news += " That was enough."
            yield self.samples

    def snapshot(self, title: str) -> Snapshot:
        """How it stands now."""
        server, verdict = self.server, self.server.verdict
        stands = standing(server.method, server.state, server.total.reward_sums)
        known = zip(stands.arms, intervals(server.method, server.state, server.total.reward_sums), strict=True)
        arms = [
            ArmState.of(one.arm, one.pulls, interval.low, interval.mean, interval.high, against=one.against)
            for one, interval in known
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
            stopped=server.stopped,
            news=self.news,
        )
